/**
 * The set-up as npm runs it, in a clone of its own and with stand-ins for npm, Typst and the compilers: no network, and
 * nothing of this checkout or of this user's cache.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { access, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TYPST_VERSION } from "../../backend/typst-release.mjs";

const PROJECT_FOLDER = fileURLToPath(new URL("../..", import.meta.url));
const SET_UP_FILES = [
  "scripts/set-up.mjs",
  "scripts/set-up",
  "scripts/typst-location.mjs",
  "backend/typst-release.mjs",
];

const RIGHT_TYPST = `echo "typst ${TYPST_VERSION} (of this test)"`;
/** Installs a Node, as `npm ci` does, and leaves a line for each run. */
const NPM =
  "echo run >> npm-runs; mkdir -p node_modules/.bin; cd node_modules/.bin; " +
  "printf '#!/bin/sh\\necho v26.10.0\\n' > node; chmod +x node";
const NPM_IN_SLOW = `touch npm-has-begun; sleep 0.5; ${NPM}`;
/** Has a child that says when it is asked to end. */
const NPM_WITH_CHILD =
  "(trap 'touch child-has-ended; exit' TERM; touch npm-has-begun; for _ in $(seq 200); do sleep 0.05; done) & wait";

/** Node's fetch without a network, and a Node of long ago. */
const NO_NETWORK =
  'globalThis.fetch = async () => { throw new TypeError("fetch failed", { cause: { code: "ENOTFOUND" } }) }';
const OLD_NODE = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } })';

describe("the set-up", () => {
  it("installs the packages once and then prints one line and changes nothing", async () => {
    const clone = await makeClone({ npm: NPM, typst: RIGHT_TYPST });
    const ready = `set-up: ready (Typst ${TYPST_VERSION}: ${join(clone.bin, "typst")})\n`;
    expect(await clone.setUp()).toEqual({
      exitCode: 0,
      stdout: `set-up: installing the npm packages (npm ci)\n${ready}`,
      stderr: "",
    });
    const before = await clone.state();
    expect(await clone.setUp()).toEqual({ exitCode: 0, stdout: ready, stderr: "" });
    expect(await clone.state()).toEqual(before);
  });

  it("installs the packages again when package-lock.json has changed, and not when package.json has", async () => {
    const clone = await makeClone({ npm: NPM, typst: RIGHT_TYPST });
    await clone.setUp();
    await clone.write("package.json", '{ "scripts": {} }');
    await clone.setUp();
    expect(await clone.read("npm-runs")).toBe("run\n");
    await clone.write("package-lock.json", '{ "lockfileVersion": 3, "packages": {} }');
    await clone.setUp();
    expect(await clone.read("npm-runs")).toBe("run\nrun\n");
  });

  it("shows what npm has said when npm fails, and tries again the next time", async () => {
    const clone = await makeClone({ npm: "echo 'npm error code ECONNREFUSED' >&2; exit 1", typst: RIGHT_TYPST });
    for (const _ of ["first", "second"]) {
      const { exitCode, stderr } = await clone.setUp();
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^set-up: `npm ci` failed: exit code 1\. See to .*\n {2}npm error code ECONNREFUSED\n$/);
    }
  });

  it("runs npm once when two set-ups start at the same time", async () => {
    const clone = await makeClone({ npm: NPM_IN_SLOW, typst: RIGHT_TYPST });
    const outcomes = await Promise.all([clone.setUp(), clone.setUp()]);
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(outcomes.filter(({ stdout }) => stdout.includes("waiting for another set-up"))).toHaveLength(1);
    expect(await clone.read("npm-runs")).toBe("run\n");
    expect(await readdir(join(clone.folder, ".local"))).toEqual([]);
  });

  it("ends npm and all that npm has started when it is interrupted", async () => {
    const clone = await makeClone({ npm: NPM_WITH_CHILD, typst: RIGHT_TYPST });
    const child = clone.start();
    const outcome = outcomeOf(child);
    await clone.written("npm-has-begun");
    child.kill("SIGINT");
    expect(await outcome).toMatchObject({ exitCode: 130, stderr: "set-up: Interrupted. Run it again to finish.\n" });
    expect(await readdir(clone.folder)).toContain("child-has-ended");
    expect(await readdir(join(clone.folder, ".local"))).toEqual([]);
  });

  it("is not held up by a set-up that was killed", async () => {
    const clone = await makeClone({ npm: NPM_IN_SLOW, typst: RIGHT_TYPST });
    const killed = clone.start();
    await clone.written("npm-has-begun");
    killed.kill("SIGKILL");
    await once(killed, "exit");
    const { exitCode, stdout } = await clone.setUp();
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("waiting");
  });

  it("passes over a typst of another version on PATH", async () => {
    const clone = await makeClone({ npm: NPM, typst: 'echo "typst 0.13.1 (8ace67d9)"' });
    const other = await writePrograms(join(clone.folder, "other-bin"), { typst: RIGHT_TYPST });
    const { exitCode, stdout } = await clone.setUp({ PATH: [clone.bin, other].join(delimiter) });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`ready (Typst ${TYPST_VERSION}: ${join(other, "typst")})`);
  });

  it.each([
    ["names no file", "there is no such file", undefined],
    ["names another version", 'says "typst 0.13.1", not', 'echo "typst 0.13.1"'],
  ])(
    "stops before all else, with a right typst on PATH too, when SERVICE_TYPST_BIN %s",
    async (_name, reason, script) => {
      const clone = await makeClone({ npm: NPM, typst: RIGHT_TYPST });
      const named = await writePrograms(join(clone.folder, "named"), script === undefined ? {} : { typst: script });
      const { exitCode, stdout, stderr } = await clone.setUp({ SERVICE_TYPST_BIN: join(named, "typst") });
      expect(exitCode).toBe(1);
      expect(stdout).toBe("");
      expect(stderr).toMatch(
        /^set-up: SERVICE_TYPST_BIN is wrong: .*Name a Typst [0-9.]+ binary in it, or unset it.*\n$/,
      );
      expect(stderr).toContain(reason);
    },
  );

  it("says what the build needs and what cargo has said when the build fails, and leaves nothing behind", async () => {
    const cargo = "echo 'error: rustc 1.70.0 is not supported' >&2; exit 101";
    const clone = await makeClone({ npm: NPM, cargo, cc: "exit 0" });
    const { exitCode, stdout, stderr } = await clone.setUp({}, NO_NETWORK);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("cannot be reached (ENOTFOUND); it is being built instead\n");
    expect(stderr).toMatch(/^set-up: Building Typst [0-9.]+ failed: exit code 101\. It needs Rust .*\n {2}.*\n$/);
    expect(stderr.endsWith("\n  error: rustc 1.70.0 is not supported\n")).toBe(true);
    expect(await readdir(join(clone.folder, "cache", "document-rendering-service"))).toEqual([]);
  });

  it("names what is missing when Typst has to be built without cargo and a compiler", async () => {
    const clone = await makeClone({ npm: NPM });
    const { exitCode, stderr } = await clone.setUp({}, NO_NETWORK);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("there is no Rust (`cargo`) and no C compiler (`cc`). To get what is missing, run `");
  });

  it("puts what cargo has built into the user's cache, for every later set-up", async () => {
    // The arguments are: install --locked typst-cli@VERSION --root FOLDER ...
    const cargo = `mkdir -p "$5/bin"; printf '#!/bin/sh\\n${RIGHT_TYPST}\\n' > "$5/bin/typst"; chmod +x "$5/bin/typst"`;
    const clone = await makeClone({ npm: NPM, cargo, cc: "exit 0" });
    const cached = join(clone.folder, "cache", "document-rendering-service", `typst-${TYPST_VERSION}`, "bin", "typst");
    const ready = `set-up: ready (Typst ${TYPST_VERSION}: ${cached})\n`;
    const first = await clone.setUp({}, NO_NETWORK);
    expect(first.stderr).toBe("");
    expect(first.stdout.endsWith(ready)).toBe(true);
    expect(await clone.setUp({}, NO_NETWORK)).toEqual({ exitCode: 0, stdout: ready, stderr: "" });
  });

  it("refuses an old Node with one sentence", async () => {
    const clone = await makeClone({ npm: NPM, typst: RIGHT_TYPST });
    const { exitCode, stdout, stderr } = await clone.setUp({}, OLD_NODE);
    expect(exitCode).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(
      /^set-up: This is Node 18\.20\.8, and the set-up needs Node \d+ or newer: install one .*\n$/,
    );
  });
});

interface Outcome {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

/** A clone that nobody has set up yet, with these programs on its PATH and no others. */
async function makeClone(programs: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "set-up-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  for (const file of SET_UP_FILES) await cp(join(PROJECT_FOLDER, file), join(folder, file), { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) await writeFile(join(folder, file), "{}");
  const bin = await writePrograms(join(folder, "bin"), programs);

  /** The script to import first changes what Node itself has. */
  const start = (env: Readonly<Record<string, string>> = {}, preload = "") =>
    spawn(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(preload)}`, "scripts/set-up.mjs"], {
      cwd: folder,
      // The sandbox's programs are not among those that these folders hold.
      env: { SERVICE_SANDBOX: "none", PATH: bin, HOME: folder, XDG_CACHE_HOME: join(folder, "cache"), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  return {
    folder,
    bin,
    start,
    read: (file: string) => readFile(join(folder, file), "utf8"),
    setUp: (env?: Readonly<Record<string, string>>, preload?: string) => outcomeOf(start(env, preload)),
    write: (file: string, content: string) => writeFile(join(folder, file), content),
    /** Waits until a program has written that file. */
    written: (file: string) => vi.waitFor(() => access(join(folder, file)), { timeout: 5_000 }),
    /** Every file, and when it was last written. */
    async state() {
      const files = await readdir(folder, { recursive: true });
      return Promise.all(files.map(async (file) => [file, (await stat(join(folder, file))).mtimeMs]));
    },
  };
}

/** Shell scripts of these names. Their PATH has the system's own folders, which the set-up's has not. */
async function writePrograms(folder: string, programs: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(folder);
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`, { mode: 0o755 });
  }
  return folder;
}

async function outcomeOf(child: ChildProcess): Promise<Outcome> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error("the set-up has no output");
  const [output, errors, [exitCode]] = await Promise.all([text(stdout), text(stderr), once(child, "close")]);
  return { exitCode, stdout: output, stderr: errors };
}
