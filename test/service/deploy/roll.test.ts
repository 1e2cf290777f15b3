/** deploy/roll.sh, with Docker, systemctl and curl played by scripts that write down what they are asked. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const SCRIPT = fileURLToPath(new URL("../../../deploy/roll.sh", import.meta.url));
const SERVICES = ["backend-1", "backend-2", "edge-1", "edge-2"];
let folder = "";

beforeEach(async () => {
  folder = await makeTemporaryFolder("roll-");
  for (const name of ["bin", "deploy", "state", "etc/systemd/system"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  // The places of a host are below the folder.
  const text = await readFile(SCRIPT, "utf8");
  await program("deploy/roll.sh", text.replaceAll(/(?<=[ =])\/(?=opt\/|etc\/)/g, `${folder}/`));
});

const program = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o755 });
const path = `${process.env.PATH}`;

function roll(options: readonly string[], environment: Record<string, string> = {}) {
  return execa(join(folder, "deploy/roll.sh"), options, {
    reject: false,
    cwd: "/",
    env: { PATH: `${folder}/bin${delimiter}${path}`, FOLDER: folder, READY: "0", ...environment },
  });
}

/** What the programs have done, in order. */
const done = async () => (await readFile(join(folder, "done"), "utf8").catch(() => "")).split("\n").filter(Boolean);

describe("compose", () => {
  const env = (version: string) => `SERVICE_API_TOKENS=billing:${"a".repeat(64)}\nIMAGE_TAG=${version}\n`;
  const running = (version: string, services = SERVICES) =>
    Promise.all(services.map((service) => writeFile(join(folder, "state", service), version)));
  const inEnv = () => readFile(join(folder, ".env"), "utf8");

  beforeEach(async () => {
    await writeFile(join(folder, ".env"), env("1.9.0"), { mode: 0o640 });
    await chmod(join(folder, ".env"), 0o640);
    await running("1.9.0");
    // The version of a service is in a file of its name.
    await program(
      "bin/docker",
      `#!/bin/sh
case "$*" in
"compose config --services") printf '%s\\n' $SERVICES; exit \${CONFIG_STATUS-0} ;;
"compose config --images") echo "edge:$IMAGE_TAG" ;;
"compose ps --quiet "*) shift 3; echo "$@" ;;
"inspect "*) shift 3; for name; do echo "registry:5000/$name$(sed 's/^/:/' "$FOLDER/state/$name")"; done ;;
"image inspect "* | "pull "*) [ "$IMAGE_TAG" != 1.0.404 ] ;;
"compose exec -T "*) [ "$4" != "\${NOT_RENDERING-}" ] ;;
"compose up "*)
  for name; do :; done
  if [ "$name" = "\${FAILING-}" ]; then exit 17; fi
  while [ -n "\${HELD-}" ] && [ ! -e "$FOLDER/released" ]; do sleep 0.1; done
  echo "$IMAGE_TAG" >"$FOLDER/state/$name"
  echo "$name $IMAGE_TAG" >>"$FOLDER/done"
  ;;
*) echo "not expected: $*" >&2; exit 99 ;;
esac
`,
    );
  });

  const rollCompose = (version: string | null, environment: Record<string, string> = {}) =>
    roll(["compose", ...(version === null ? [] : [version])], { SERVICES: SERVICES.join(" "), ...environment });

  it("stops at the first backend that makes no document", async () => {
    const { exitCode, stderr } = await rollCompose("1.10.0", { NOT_RENDERING: "backend-1" });
    expect([exitCode, await done()]).toEqual([1, ["backend-1 1.10.0"]]);
    expect(stderr).toContain("backend-1 is ready and makes no document");
  });

  it("moves to a newer version by its backends first, and back by its edges first", async () => {
    expect(await rollCompose("1.10.0")).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await done()).toEqual(SERVICES.map((service) => `${service} 1.10.0`));
    expect(await inEnv()).toBe(env("1.10.0"));
    expect((await stat(join(folder, ".env"))).mode & 0o777).toBe(0o640);
    expect((await rollCompose("1.9.0")).exitCode).toBe(0);
    expect((await done()).slice(4)).toEqual(
      ["edge-1", "edge-2", "backend-1", "backend-2"].map((one) => `${one} 1.9.0`),
    );
  });

  it("restarts all without a version", async () => {
    expect(await rollCompose(null)).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await done()).toEqual(SERVICES.map((service) => `${service} 1.9.0`));
    expect(await inEnv()).toBe(env("1.9.0"));
  });

  it("has the version of its argument run, whatever the shell exports", async () => {
    expect((await rollCompose("1.10.0", { IMAGE_TAG: "1.1.1" })).exitCode).toBe(0);
    expect((await done())[0]).toBe("backend-1 1.10.0");
  });

  it("repeats a way back that failed in the right order: no edge is newer than a backend", async () => {
    await running("1.10.0");
    await writeFile(join(folder, ".env"), env("1.10.0"));
    expect((await rollCompose("1.9.0", { FAILING: "edge-2" })).exitCode).toBe(17);
    expect(await done()).toEqual(["edge-1 1.9.0"]);
    expect(await inEnv()).toBe(env("1.9.0"));
    expect((await rollCompose("1.9.0")).exitCode).toBe(0);
    expect((await done()).slice(1)).toEqual(
      ["edge-1", "edge-2", "backend-1", "backend-2"].map((one) => `${one} 1.9.0`),
    );
  });

  it("takes a release candidate for older than its release", async () => {
    await running("1.10.0-rc.1");
    expect((await rollCompose("1.10.0")).exitCode).toBe(0);
    expect((await done())[0]).toBe("backend-1 1.10.0");
    expect((await rollCompose("1.10.0-rc.1")).exitCode).toBe(0);
    expect((await done())[4]).toBe("edge-1 1.10.0-rc.1");
  });

  it.each(["", "latest"])("takes images without a version (%j), as 1.3 had them, for older than any", async (tag) => {
    await running(tag);
    expect((await rollCompose("1.10.0")).exitCode).toBe(0);
    expect(await done()).toEqual(SERVICES.map((service) => `${service} 1.10.0`));
  });

  it("changes the version alone in a .env with the line ends of Windows and none at its end", async () => {
    await writeFile(join(folder, ".env"), "IMAGE_TAG=1.9.0\r\nA=b\r\nC=d");
    expect((await rollCompose("1.10.0")).exitCode).toBe(0);
    expect(await inEnv()).toBe("IMAGE_TAG=1.10.0\r\nA=b\r\nC=d");
    expect((await rollCompose(null)).exitCode).toBe(0);
  });

  it("leaves nothing beside .env when the disk is full", async () => {
    const full = `trap '' XFSZ; ulimit -f 0; exec "$0" compose 1.10.0 2>/dev/null`;
    const environment = { PATH: `${folder}/bin${delimiter}${path}`, FOLDER: folder, SERVICES: SERVICES.join(" ") };
    const { exitCode } = await execa("bash", ["-c", full, join(folder, "deploy/roll.sh")], {
      reject: false,
      env: environment,
    });
    expect([exitCode === 0, await done(), await inEnv()]).toEqual([false, [], env("1.9.0")]);
    expect((await readdir(folder)).filter((name) => name.startsWith(".env"))).toEqual([".env"]);
  });

  it.each([
    ["compose does not know its services", { CONFIG_STATUS: "14", SERVICES: "" }, "1.10.0"],
    ["compose fails after it has named them", { CONFIG_STATUS: "14" }, "1.10.0"],
    ["there is no edge", { SERVICES: "backend-1 backend-2" }, "1.10.0"],
    ["there is no backend", { SERVICES: "edge-1 edge-2" }, "1.10.0"],
    ["an image is neither here nor at its registry", {}, "1.0.404"],
    ["the version would be a pattern", {}, "a&b"],
    ["the version has a slash", {}, "1.10.0/x"],
    ["the version is an option", {}, "-x"],
    ["the version is empty", {}, ""],
    ["the version has two lines", {}, "1.10.0\n1"],
  ])("fails and changes nothing if %s", async (_what, environment, version) => {
    const { exitCode, stdout } = await rollCompose(version, environment);
    expect(exitCode).not.toBe(0);
    expect([stdout, await done(), await inEnv()]).toEqual(["", [], env("1.9.0")]);
  });

  it.each([["SERVICE_API_TOKENS=a:b\n"], ["IMAGE_TAG=\n"], [null]])(
    "fails if .env has no version: %j",
    async (text) => {
      if (text === null) await execa("rm", [join(folder, ".env")]);
      else await writeFile(join(folder, ".env"), text);
      expect(await rollCompose(null)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("IMAGE_TAG") });
      if (text !== "IMAGE_TAG=\n") expect((await rollCompose("1.10.0")).exitCode).toBe(1);
      expect([await done(), await inEnv().catch(() => null)]).toEqual([[], text]);
    },
  );

  it("leaves a link to .env, and changes the file that it names", async () => {
    await execa("mv", [join(folder, ".env"), join(folder, "state/env")]);
    await symlink("state/env", join(folder, ".env"));
    expect((await rollCompose("1.10.0")).exitCode).toBe(0);
    expect(await readlink(join(folder, ".env"))).toBe("state/env");
    expect(await readFile(join(folder, "state/env"), "utf8")).toBe(env("1.10.0"));
  });

  it("runs once at a time: a second one fails and changes nothing", async () => {
    const first = rollCompose("1.10.0", { HELD: "yes" });
    await expect.poll(inEnv, { timeout: 60_000 }).toBe(env("1.10.0"));
    const second = await rollCompose("1.11.0");
    expect(second).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("another") });
    expect(await inEnv()).toBe(env("1.10.0"));
    await writeFile(join(folder, "released"), "");
    expect((await first).exitCode).toBe(0);
  });

  it("killed at any moment it leaves the old .env or the new one", { timeout: 600_000 }, async () => {
    const kills = Number(process.env.KILLS_OF_ROLL ?? 100);
    const seen = new Map<string, number>();
    for (let count = 0; count < kills; count += 1) {
      await writeFile(join(folder, ".env"), env("1.9.0"));
      const child = spawn(join(folder, "deploy/roll.sh"), ["compose", "1.10.0"], {
        env: { PATH: `${folder}/bin${delimiter}${path}`, FOLDER: folder, SERVICES: SERVICES.join(" ") },
        stdio: "ignore",
        detached: true,
      });
      const ended = once(child, "exit");
      // The moment is what is tested: each is as good as another.
      await delay(Math.random() * 120);
      try {
        process.kill(-(child.pid ?? Number.NaN), "SIGKILL");
      } catch {
        // It has ended by itself.
      }
      await ended;
      const text = await inEnv();
      seen.set(text, (seen.get(text) ?? 0) + 1);
    }
    expect([...seen.keys()].filter((text) => text !== env("1.9.0") && text !== env("1.10.0"))).toEqual([]);
  });
});

describe("systemd", () => {
  const release = (version: string) => join(folder, "opt/document-rendering-releases", version);
  const link = () => join(folder, "opt/document-rendering-service");

  /** @param program that its unit starts */
  async function writeRelease(version: string, program: string): Promise<void> {
    for (const place of ["dist/edge", dirname(program), "deploy/systemd"]) {
      await mkdir(join(release(version), place), { recursive: true });
    }
    await writeFile(join(release(version), program), "", { mode: 0o755 });
    await writeFile(
      join(release(version), "deploy/systemd/a.service"),
      `ExecStart=${join(link(), program)} ${version}\n`,
    );
  }

  beforeEach(async () => {
    for (const version of ["1.9.0", "1.10.0"]) {
      await writeRelease(version, "node_modules/.bin/node");
    }
    await symlink(release("1.9.0"), link());
    // A unit is a process in the folder of its version.
    await program(
      "bin/systemctl",
      `#!/bin/sh
unit() { echo "$FOLDER/state/$(echo "$1" | tr @ -)"; }
case "$*" in
"list-units --plain --no-legend document-rendering-backend@*") echo "\${BACKENDS-document-rendering-backend@8788.service loaded}"; exit \${LIST_STATUS-0} ;;
"list-units --plain --no-legend document-rendering-edge@*") echo "\${EDGES-document-rendering-edge@8786.service loaded
document-rendering-edge@8787.service loaded}" ;;
"show --property=MainPID --value "*) for name; do :; done; cat "$(unit "$name")" 2>/dev/null || echo 0 ;;
daemon-reload) ;;
"restart "*)
  echo "$2" >>"$FOLDER/done"
  if [ "$2" = "\${FAILING-}" ]; then exit 17; fi
  ;;
*) echo "not expected: $*" >&2; exit 99 ;;
esac
`,
    );
    await mkdir(join(folder, "etc/document-rendering-service"));
    const variables = "SERVICE_BACKEND_TOKENS=old-token,new-token\nSERVICE_PORT=1\n";
    await writeFile(join(folder, "etc/document-rendering-service/backend.env"), variables);
    // It is given the header field of a render on its standard input.
    await program(
      "bin/curl",
      `#!/bin/sh
case "$*" in
*/v1/render) echo "$*: $(cat)" >>"$FOLDER/rendered"; exit \${RENDERS-0} ;;
esac
echo "$*" >>"$FOLDER/asked"
exit $READY
`,
    );
  });

  const BACKENDS = ["document-rendering-backend@8788.service"];
  const EDGES = ["document-rendering-edge@8786.service", "document-rendering-edge@8787.service"];

  /** Where its unit starts it; that of 1.3 had another place. */
  const placeOfEdge = async () => {
    const unit = await readFile(
      new URL("../../../deploy/systemd/document-rendering-edge@.service", import.meta.url),
      "utf8",
    );
    return (
      /^WorkingDirectory=\/opt\/document-rendering-service(.*)$/m.exec(unit)?.[1] ?? expect.unreachable("no place")
    );
  };

  async function runEdge(unit: string, version: string, place?: string): Promise<void> {
    const cwd = join(release(version), place ?? (await placeOfEdge()));
    const child = spawn("sleep", ["600"], { cwd, stdio: "ignore" });
    onTestFinished(() => void child.kill());
    await once(child, "spawn");
    await writeFile(join(folder, "state", unit.replace("@", "-")), String(child.pid));
  }

  it("moves to a newer version by its backends first, and asks each with a limit of time", async () => {
    expect(await roll(["systemd", "1.10.0"])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await done()).toEqual([...BACKENDS, ...EDGES]);
    expect(await readlink(link())).toBe(release("1.10.0"));
    expect(await readFile(join(folder, "etc/systemd/system/a.service"), "utf8")).toMatch(/ 1\.10\.0\n$/);
    const asked = (await readFile(join(folder, "asked"), "utf8")).trim().split("\n");
    expect(asked.map((line) => line.includes("--max-time "))).toEqual([true, true, true]);
    // A proxy of the operator's shell does not know this host's ports.
    expect(asked.every((line) => line.includes("--noproxy *"))).toBe(true);
  });

  it("goes back to a version that has its programs in other places, as 1.3 has", async () => {
    await writeRelease("1.3.0", "dist/edge/workerd");
    expect(await roll(["systemd", "1.3.0"])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await readlink(link())).toBe(release("1.3.0"));
  });

  it.each([undefined, "dist/edge"])(
    "repeats a way back that failed in the right order, by what the edges run and not by the link (%j)",
    async (place) => {
      for (const unit of EDGES) await runEdge(unit, "1.10.0", place);
      expect((await roll(["systemd", "1.9.0"], { FAILING: EDGES[1] ?? "" })).exitCode).toBe(17);
      await runEdge(EDGES[0] ?? "", "1.9.0", place);
      expect((await roll(["systemd", "1.9.0"])).exitCode).toBe(0);
      expect(await done()).toEqual([...EDGES, ...EDGES, ...BACKENDS]);
    },
  );

  it.each([
    ["there is no backend", { BACKENDS: "" }, "1.10.0"],
    ["there is no edge", { EDGES: "" }, "1.10.0"],
    ["systemd does not answer", { LIST_STATUS: "1" }, "1.10.0"],
    ["the version is not there", {}, "1.11.0"],
    ["the version has not what its units start", {}, "1.12.0"],
    ["the version is another folder", {}, "../../etc"],
    ["the version is the folder of all", {}, "."],
  ])("fails and changes nothing if %s", async (_what, environment, version) => {
    await writeRelease("1.12.0", "dist/program");
    await rm(join(release("1.12.0"), "dist/program"));
    expect((await roll(["systemd", version], environment)).exitCode).not.toBe(0);
    expect([await done(), await readlink(link())]).toEqual([[], release("1.9.0")]);
  });

  it("has each backend make a document, with a token that no argument shows, and stops at the first that does not", async () => {
    expect((await roll(["systemd", "1.10.0"])).exitCode).toBe(0);
    const rendered = await readFile(join(folder, "rendered"), "utf8");
    expect(rendered).toMatch(
      /^--config - .* http:\/\/127\.0\.0\.1:8788\/v1\/render: header = "X-Service-Backend-Token: old-token"\n$/,
    );
    const { exitCode, stderr } = await roll(["systemd", "1.9.0"], { RENDERS: "22" });
    expect([exitCode, (await done()).at(-1)]).toEqual([1, BACKENDS[0]]);
    expect(stderr).toContain("makes no document");
  });

  it("stops at the first that does not become ready", async () => {
    const { exitCode, stderr } = await roll(["systemd", "1.10.0"], { READY: "22" });
    expect([exitCode, await done()]).toEqual([1, BACKENDS]);
    expect(stderr).toContain(`journalctl -u ${BACKENDS[0]}`);
  });
});

it.each([[], ["unknown"], ["compose", "1", "2"]])("wrong arguments are refused (%#)", async (...options) => {
  expect(await roll(options)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("usage: ") });
});
