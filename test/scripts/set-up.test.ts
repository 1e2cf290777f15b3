/**
 * The set-up as npm runs it, in its own clone and with stand-ins for npm, Typst and the compilers: without a network,
 * and without anything of this checkout or of this user's cache.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync } from "node:fs";
import { access, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { withLock } from "../../scripts/set-up/lock.mjs";
import { locateBubblewrap } from "../../typst/program-location.mjs";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const PROJECT_FOLDER = fileURLToPath(new URL("../..", import.meta.url));
const SET_UP_FILES = [
  "scripts/set-up.mjs",
  "scripts/set-up",
  "scripts/link-node.mjs",
  "edge/platform/node/settings.ts",
  "protocol/idle-connections.ts",
  "backend",
  "typst",
  "protocol",
  "edge/backends",
  "edge/settings.ts",
  "rules",
];

const RIGHT_TYPST = `echo "typst ${TYPST_VERSION} (of this test)"`;
/** Installs a Node, as `npm ci` does, and writes a line for each run. */
const NPM =
  "echo run >> npm-runs; mkdir -p node_modules/.bin; cd node_modules/.bin; " +
  `printf '#!/bin/sh\\nexec "${process.execPath}" "$@"\\n' > node; chmod +x node`;
/** Waits for a signal of the test, but not for ever. */
const NPM_THAT_WAITS = `touch npm-has-begun; for _ in $(seq 600); do [ -e go ] && break; sleep 0.1; done; ${NPM}`;
/** Has a child that records the request to end. */
const NPM_WITH_CHILD =
  "(trap 'touch child-has-ended; exit' TERM; touch npm-has-begun; for _ in $(seq 200); do sleep 0.05; done) & wait";

const RIGHT_CARGO = '[ "$1" = --version ] && echo "cargo 1.92.0 (of this test)" && exit';
/** Makes a sandbox as far as can be seen without running a program in it. */
const RIGHT_BWRAP =
  'case "$1" in --version) echo bubblewrap 0.8.0;; *) echo "bwrap: execvp /none: No such file or directory" >&2; exit 1;; esac';
const BWRAP_WITHOUT_NAMESPACES =
  'case "$1" in --version) echo bubblewrap 0.8.0;; *) echo "bwrap: No permissions to create new namespace" >&2; exit 1;; esac';
const RUNS = "exit 0";
/** Fetches and unpacks a package, and writes a line for each call. */
const APT_GET = 'echo "$@" >> "$HOME/apt-get-calls"; touch bubblewrap_0.8.0_amd64.deb';
/** Knows no package before it has created its own lists. */
const APT_GET_WITHOUT_LISTS =
  'echo "$@" >> "$HOME/apt-get-calls"; case "$*" in *Dir::State=*update) exit 100;; ' +
  '*Dir::State=*download*) touch bubblewrap_0.8.0_amd64.deb;; *) echo "E: Unable to locate package" >&2; exit 100;; esac';
const DPKG = `mkdir -p "$3/usr/bin"; printf '%s\\n' '#!/bin/sh' '${RIGHT_BWRAP}' > "$3/usr/bin/bwrap"; chmod +x "$3/usr/bin/bwrap"`;

/** Node's fetch without and with a network, and old versions of Node. */
const NO_NETWORK =
  'globalThis.fetch = async () => { throw new TypeError("fetch failed", { cause: { code: "ENOTFOUND" } }) }';
const NETWORK = "globalThis.fetch = async () => new Response(null)";
const NODE_WITHOUT_TYPESCRIPT = 'Object.defineProperty(process.features, "typescript", { value: false })';
const NO_LIBATOMIC =
  'process.dlopen = (_, name) => { throw new Error(name + ": cannot open shared object file: No such file or directory") }';
const OLD_NODE = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } })';

describe("the set-up", () => {
  it("installs the packages when package-lock.json has changed, and otherwise prints one line and changes nothing", async () => {
    // npm 10 leaves the Node of a package without a link.
    const npm = `echo "$*" > npm-arguments; rm -rf node_modules; ${NPM}; mkdir -p ../node-of-test/bin; mv node ../node-of-test/bin`;
    const clone = await makeClone({ npm, typst: RIGHT_TYPST });
    await clone.write(
      "package.json",
      '{ "optionalDependencies": { "node-of-other": "1.0.0", "node-of-test": "1.0.0" } }',
    );
    const ready = `set-up: ready (Typst ${TYPST_VERSION}: ${join(clone.bin, "typst")})\n`;
    const installed = { exitCode: 0, stdout: `set-up: installing the npm packages (npm ci)\n${ready}`, stderr: "" };
    expect(await clone.setUp()).toEqual(installed);
    // A script of a package could fetch what has no checksum in the lock file.
    expect(await clone.read("npm-arguments")).toMatch(/^ci .*--ignore-scripts/);
    expect(await readlink(join(clone.folder, "node_modules/.bin/node"))).toBe("../node-of-test/bin/node");

    await clone.write("package.json", '{ "optionalDependencies": { "node-of-test": "1.0.0" } }');
    const before = await clone.state();
    expect(await clone.setUp()).toEqual({ exitCode: 0, stdout: ready, stderr: "" });
    expect(await clone.state()).toEqual(before);

    await clone.write("package-lock.json", '{ "lockfileVersion": 3, "packages": {} }');
    expect(await clone.setUp()).toEqual(installed);
    expect(await clone.read("npm-runs")).toBe("run\nrun\n");
  });

  it("installs what runs the service for `npm start`, and the rest beside it when that is wanted", async () => {
    const clone = await makeClone({ npm: `echo "$*" >> npm-arguments; ${NPM}`, typst: RIGHT_TYPST });
    await clone.write("package.json", '{ "workspaces": ["clients/typescript", "test"] }');
    for (const packages of ["run", "run", "all", "run"]) {
      expect((await outcomeOf(clone.start({}, "", [packages]))).exitCode).toBe(0);
    }
    const part = / --include-workspace-root --workspace=clients\/typescript$/;
    const calls = (await clone.read("npm-arguments")).trimEnd().split("\n");
    expect(calls.map((call) => [call.split(" ")[0], part.test(call)])).toEqual([
      ["ci", true],
      // Not `ci`: it would remove the packages of a service that runs.
      ["install", false],
    ]);
  });

  it("shows the output of npm if npm fails, names a library that is missing, and tries again the next time", async () => {
    const missing = "libx.so.1: cannot open shared object file";
    const npm = `[ -e npm-has-begun ] && echo 'npm error node: ${missing}' >&2 || echo 'npm error ECONNREFUSED' >&2; touch npm-has-begun; exit 1`;
    const clone = await makeClone({ npm, typst: RIGHT_TYPST });
    const first = await clone.setUp();
    expect(first.stderr).toMatch(/^set-up: `npm ci` failed: exit code 1\. Fix .*\n {2}npm error ECONNREFUSED\n$/);
    const { exitCode, stderr } = await clone.setUp();
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^set-up: `npm ci` failed: exit code 1\. libx\.so\.1 is missing: the service's Node needs it\. /,
    );
  });

  it("runs npm once when two set-ups start at the same time", async () => {
    const clone = await makeClone({ npm: NPM_THAT_WAITS, typst: RIGHT_TYPST });
    const children = [clone.start(), clone.start()];
    const outcomes = Promise.all(children.map(outcomeOf));
    await Promise.race(children.map((child) => said(child, "waiting for another set-up")));
    await clone.write("go", "");
    expect((await outcomes).map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect((await outcomes).filter(({ stdout }) => stdout.includes("waiting for another set-up"))).toHaveLength(1);
    expect(await clone.read("npm-runs")).toBe("run\n");
    expect(await readdir(join(clone.folder, ".local"))).toEqual([]);
  });

  it("ends npm and every process of npm if it is interrupted", async () => {
    const clone = await makeClone({ npm: NPM_WITH_CHILD, typst: RIGHT_TYPST });
    const child = clone.start();
    const outcome = outcomeOf(child);
    await clone.written("npm-has-begun");
    child.kill("SIGINT");
    expect(await outcome).toMatchObject({ exitCode: 130, stderr: "set-up: Interrupted. Run it again to finish.\n" });
    expect(await readdir(clone.folder)).toContain("child-has-ended");
    expect(await readdir(join(clone.folder, ".local"))).toEqual([]);
  });

  it("does not wait for a set-up that was killed", async () => {
    const clone = await makeClone({ npm: NPM_THAT_WAITS, typst: RIGHT_TYPST });
    const killed = clone.start();
    await clone.written("npm-has-begun");
    killed.kill("SIGKILL");
    await once(killed, "exit");
    await clone.write("go", "");
    const { exitCode, stdout } = await clone.setUp();
    expect(exitCode).toBe(0);
    expect(stdout).not.toContain("waiting");
  });

  it("ignores a typst of another version on PATH", async () => {
    const clone = await makeClone({ npm: NPM, typst: 'echo "typst 0.13.1 (8ace67d9)"' });
    const other = await writePrograms(join(clone.folder, "other-bin"), { typst: RIGHT_TYPST });
    const { exitCode, stdout } = await clone.setUp({ PATH: [clone.bin, other].join(delimiter) });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`ready (Typst ${TYPST_VERSION}: ${join(other, "typst")})`);
    const named = await clone.setUp({ PATH: other, SERVICE_TYPST_BIN: join(clone.bin, "typst") });
    expect(named).toMatchObject({ exitCode: 1, stdout: "" });
    expect(named.stderr).toMatch(
      /^set-up: SERVICE_TYPST_BIN is wrong: .* says "typst 0.13.1 .*Name a Typst [0-9.]+ binary/,
    );
  });

  it("shows what the build needs and the output of cargo if the build fails, and leaves nothing behind", async () => {
    const cargo = `${RIGHT_CARGO}; echo 'error: linker cc not found' >&2; exit 101`;
    const clone = await makeClone({ npm: NPM, cargo, cc: "exit 0" });
    const { exitCode, stdout, stderr } = await clone.setUp({}, NO_NETWORK);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("cannot be reached (ENOTFOUND); it is being built instead\n");
    expect(stderr).toMatch(/^set-up: Building Typst [0-9.]+ failed: exit code 101\. It needs Rust .*\n {2}.*\n$/);
    expect(stderr.endsWith("\n  error: linker cc not found\n")).toBe(true);
    expect(await readdir(join(clone.folder, "cache", "document-rendering-service"))).toEqual([]);
  });

  it("builds Typst into the user's cache once, with shared libraries if static ones fail", async () => {
    // The arguments are: install --locked typst-cli@VERSION --root FOLDER ...
    const cargo = `[ "$1" = --version ] && printf 'cargo 1.92.0 (of this test)\\nhost: x86_64-unknown-linux-gnu\\n' && exit
      case "$*" in *" --target x86_64-unknown-linux-gnu "*+crt-static*) echo static;; *) echo shared;; esac >> "$HOME/builds"
      case "$*" in *crt-static*) echo 'error: linking with \`cc\` failed: exit status: 1' >&2; exit 101;; esac
      mkdir -p "\${5:?}/bin"; printf '#!/bin/sh\\n${RIGHT_TYPST}\\n' > "$5/bin/typst"; chmod +x "$5/bin/typst"`;
    const clone = await makeClone({ npm: NPM, cargo, cc: RUNS });
    const cache = join(clone.folder, "cache");
    const ready = `set-up: ready (Typst ${TYPST_VERSION}: ${cache}/document-rendering-service/typst-${TYPST_VERSION}/bin/typst)\n`;
    const first = await clone.setUp({}, NO_NETWORK);
    expect(first.stderr).toBe("");
    expect(first.stdout.endsWith(ready)).toBe(true);
    expect(await clone.setUp({}, NO_NETWORK)).toEqual({ exitCode: 0, stdout: ready, stderr: "" });
    expect(await clone.read("builds")).toBe("static\nshared\n");
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

describe("before it begins, the set-up", () => {
  const DEFAULT_SANDBOX = { SERVICE_SANDBOX: "" };

  async function expectRefusal(clone: Clone, env: Readonly<Record<string, string>>, message: RegExp, preload = "") {
    const { exitCode, stdout, stderr } = await clone.setUp(env, preload);
    expect(stderr).toMatch(message);
    expect(stdout).toBe("");
    expect(exitCode).toBe(1);
  }

  it("names everything that is missing, and how to get it", async () => {
    const clone = await makeClone({ npm: NPM });
    const everything = new RegExp(
      "^set-up: 3 problems:\\n" +
        "- bubblewrap is missing: .*Install the package bubblewrap.*\\n" +
        "- libatomic\\.so\\.1 is missing: .*apt-get install -y libatomic1\\n" +
        "- Typst .* has to be built here, since the release on github\\.com cannot be reached \\(ENOTFOUND\\), and there is " +
        "no Rust \\(`cargo`\\) and there is no C compiler \\(`cc`\\)\\. .*rustup.*build-essential.*\\n$",
    );
    await expectRefusal(clone, DEFAULT_SANDBOX, everything, `${NO_NETWORK}; ${NO_LIBATOMIC}`);
  });

  it("refuses wrong settings, several at once", async () => {
    const clone = await makeClone({ npm: NPM, typst: RIGHT_TYPST, bwrap: RIGHT_BWRAP });
    const wrong = {
      ...DEFAULT_SANDBOX,
      SERVICE_BACKEND_TIMEOUT_SECONDS: "0",
      SERVICE_API_TOKENS: "sécret",
      SERVICE_BUBBLEWRAP_BIN: "/none/bwrap",
    };
    const message =
      /^set-up: 3 problems:\n- SERVICE_BACKEND_TIMEOUT_SECONDS must be .*\n- SERVICE_API_TOKENS must hold .*\n- SERVICE_BUBBLEWRAP_BIN is wrong: .*no such file/;
    await expectRefusal(clone, wrong, message);
    const choice = /^set-up: SERVICE_SANDBOX must be one of bubblewrap, landlock, auto, none\.\n$/;
    await expectRefusal(clone, { SERVICE_SANDBOX: "bubble" }, choice);
  });

  it("refuses a wrong setting before it builds Typst on a Node that cannot read the settings by itself", async () => {
    const cargo = `${RIGHT_CARGO}; touch "$HOME/cargo-has-begun"`;
    const clone = await makeClone({ npm: NPM, cargo, cc: RUNS });
    const old = `${NO_NETWORK}; ${NODE_WITHOUT_TYPESCRIPT}`;
    const { exitCode, stderr } = await clone.setUp({ SERVICE_PORT: "http" }, old);
    expect(stderr).toMatch(/^set-up: SERVICE_PORT must be a whole number .*\n$/);
    expect(exitCode).toBe(1);
    expect(await readdir(clone.folder)).not.toContain("cargo-has-begun");
  });

  it("refuses a sandbox that does not work, with the program's message, and auto only if neither works", async () => {
    const programs = { npm: NPM, typst: RIGHT_TYPST, bwrap: BWRAP_WITHOUT_NAMESPACES };
    const bubblewrap =
      "bubblewrap cannot make a sandbox .*No permissions to create new namespace.*docs/operations\\.md";
    const clone = await makeClone(programs);
    await expectRefusal(clone, DEFAULT_SANDBOX, new RegExp(`^set-up: ${bubblewrap}`));
    const named = await writePrograms(join(clone.folder, "named"), {
      right: RUNS,
      wrong: "echo 'unrecognized' >&2; exit 1",
    });
    const landlock = "landlock needs .* util-linux 2[.]41 or newer.*: .*unrecognized";
    const neither = new RegExp(`^set-up: ${bubblewrap}.*The other sandbox .*${landlock}\\n$`);
    const wrong = { SERVICE_SETPRIV_BIN: join(named, "wrong") };
    await expectRefusal(clone, { SERVICE_SANDBOX: "auto", ...wrong }, neither);
    const right = { SERVICE_SETPRIV_BIN: join(named, "right") };
    expect((await clone.setUp({ SERVICE_SANDBOX: "auto", ...right })).exitCode).toBe(0);
  });

  it("refuses a cargo that is too old for Typst", async () => {
    const cargo = 'echo "cargo 1.91.1 (of this test)"';
    const clone = await makeClone({ npm: NPM, cargo, cc: RUNS });
    await expectRefusal(clone, {}, /cargo is older than Rust 1\.92 \(cargo 1\.91\.1.*rustup update stable/, NO_NETWORK);
  });

  it("asks only for xz, and not for a compiler, if it can use the release", async () => {
    const clone = await makeClone({ npm: NPM });
    const message = /^set-up: Typst [0-9.]+ cannot be unpacked: there is no `xz`\. Install it .*xz-utils\n$/;
    await expectRefusal(clone, {}, message, NETWORK);
  });
});

describe("bubblewrap", () => {
  const ENVIRONMENT = { SERVICE_SANDBOX: "" };
  const PROGRAMS = { npm: NPM, typst: RIGHT_TYPST, "apt-get": APT_GET, dpkg: DPKG };
  const cached = ({ folder }: Clone) => join(folder, "cache", "document-rendering-service");

  it("is fetched once into the user's cache, with signatures checked", async () => {
    const clone = await makeClone(PROGRAMS);
    // Left by a set-up that was killed.
    await mkdir(join(cached(clone), "bubblewrap.work-killed"), { recursive: true });
    const first = await clone.setUp(ENVIRONMENT);
    expect(first).toMatchObject({ exitCode: 0, stderr: "" });
    expect(first.stdout).toContain("set-up: fetching bubblewrap with apt-get, for this user alone\n");
    const [call, ...others] = (await clone.read("apt-get-calls")).trimEnd().split("\n");
    expect(call).toMatch(/ -o APT::Get::AllowUnauthenticated=false .* download bubblewrap$/);
    expect(call).not.toContain("Dir::State");
    expect(others).toEqual([]);
    expect(await readdir(cached(clone))).toEqual(["bubblewrap"]);

    expect(await clone.setUp(ENVIRONMENT)).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await clone.read("apt-get-calls")).trimEnd().split("\n")).toHaveLength(1);
    const env = { PATH: clone.bin, XDG_CACHE_HOME: join(clone.folder, "cache") };
    const path = join(cached(clone), "bubblewrap", "bin", "bwrap");
    expect(await locateBubblewrap(env)).toEqual({ path, source: "cache" });
  });

  it("is fetched with the user's own package lists if the machine has none, even if one source fails", async () => {
    const clone = await makeClone({ ...PROGRAMS, "apt-get": APT_GET_WITHOUT_LISTS });
    expect(await clone.setUp(ENVIRONMENT)).toMatchObject({ exitCode: 0, stderr: "" });
    const calls = (await clone.read("apt-get-calls")).trimEnd().split("\n");
    expect(calls).toHaveLength(3);
    for (const call of calls) expect(call).toContain("-o Acquire::AllowInsecureRepositories=false");
    expect(await readdir(cached(clone))).toEqual(["bubblewrap"]);
  });

  it("that cannot be fetched stops the set-up before npm, with the output of apt-get", async () => {
    const clone = await makeClone({ ...PROGRAMS, "apt-get": "echo 'E: no network' >&2; exit 100" });
    const { exitCode, stderr } = await clone.setUp(ENVIRONMENT);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^set-up: bubblewrap is missing: .*sudo apt-get install -y bubblewrap.*exit code 100/);
    expect(stderr).toContain("\n  E: no network\n");
    expect(await readdir(clone.folder)).not.toContain("npm-runs");
    expect(await readdir(cached(clone))).toEqual([]);
  });

  it("is not fetched if there is one on PATH", async () => {
    const clone = await makeClone({ ...PROGRAMS, bwrap: RIGHT_BWRAP });
    expect(await clone.setUp(ENVIRONMENT)).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await readdir(clone.folder)).not.toContain("apt-get-calls");
  });
});

it("of many that come to a lock whose holder has died only one at a time holds it, and nothing is left", async () => {
  const folder = await makeTemporaryFolder("lock-");
  const dead = spawn("true");
  await once(dead, "exit");
  await writeFile(join(folder, `lock,${dead.pid},x,${encodeURIComponent(hostname())}`), "");
  let holders = 0;
  let most = 0;
  const hold = () =>
    withLock(join(folder, "lock"), "to be alone", new AbortController().signal, async () => {
      most = Math.max(most, ++holders);
      await readdir(folder);
      holders--;
    });
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  await Promise.all(Array.from({ length: 12 }, hold));
  expect([most, await readdir(folder)]).toEqual([1, []]);
});

type Clone = Awaited<ReturnType<typeof makeClone>>;

/** A clone that is not set up, with only these programs on its PATH. */
async function makeClone(programs: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "set-up-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  // In the other way of copying, Node looks at every folder above each file: twenty times the work.
  for (const file of SET_UP_FILES) cpSync(join(PROJECT_FOLDER, file), join(folder, file), { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) await writeFile(join(folder, file), "{}");
  const bin = await writePrograms(join(folder, "bin"), programs);

  /** The script that Node imports first changes Node's own functions. */
  const start = (env: Readonly<Record<string, string>> = {}, preload = "", options: readonly string[] = []) => {
    const preloaded = ["--import", `data:text/javascript,${encodeURIComponent(preload)}`];
    return spawn(process.execPath, [...preloaded, "scripts/set-up.mjs", ...options], {
      cwd: folder,
      // These folders do not contain the sandbox's programs.
      env: { SERVICE_SANDBOX: "none", PATH: bin, HOME: folder, XDG_CACHE_HOME: join(folder, "cache"), ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  };
  return {
    folder,
    bin,
    start,
    read: (file: string) => readFile(join(folder, file), "utf8"),
    setUp: (env?: Readonly<Record<string, string>>, preload?: string) => outcomeOf(start(env, preload)),
    write: (file: string, content: string) => writeFile(join(folder, file), content),
    /** Waits until a program has written that file. */
    written: (file: string) => vi.waitFor(() => access(join(folder, file)), { timeout: 300_000 }),
    /** Every file and the time of its last change. */
    async state() {
      const files = await readdir(folder, { recursive: true });
      return Promise.all(files.map(async (file) => [file, (await stat(join(folder, file))).mtimeMs]));
    },
  };
}

/** Shell scripts of these names. Unlike the set-up's, their PATH contains the system's folders. */
async function writePrograms(folder: string, programs: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(folder);
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`, { mode: 0o755 });
  }
  return folder;
}

/** Waits until a set-up has printed that. */
function said(child: ChildProcess, words: string): Promise<void> {
  let output = "";
  return new Promise((resolve) => {
    child.stdout?.on("data", (chunk) => {
      output += chunk;
      if (output.includes(words)) resolve();
    });
  });
}

async function outcomeOf(child: ChildProcess) {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error("the set-up has no output");
  const [output, errors, [exitCode]] = await Promise.all([text(stdout), text(stderr), once(child, "close")]);
  return { exitCode, stdout: output, stderr: errors };
}
