/** Without a home, and with one that cannot be written: the command works, without its cache. What a home is no root of: what-is-sent.txt. */
import { access, chmod, cp, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { commandEnvironment, makeProject, PROGRAM, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";

const FILES = {
  "app/typst.toml": '[package]\nname = "app"\nversion = "0.1.0"\nentrypoint = "lib.typ"\n',
  "app/lib.typ": "#let greet(name) = [Dear #name,]",
  "app/letters/letter.typ": '#import "../lib.typ": greet\n#greet("Ida")',
  "app/cases.typ": "x",
  "out/keep": "",
};
const NO_CACHE = { XDG_CACHE_HOME: undefined, XDG_DATA_HOME: undefined };
const RENDER = ["render", "app/letters/letter.typ", "-o", "out/a.pdf"];

describe.each([
  ["that is empty", ""],
  ["that is no absolute path", "home"],
  ["that is no folder", "/dev/null"],
  ["that does not exist", "/nonexistent"],
  ["that is not set", undefined],
])("with a home %s", (_what, HOME) => {
  it("finds the root, renders, and leaves nothing in the working directory", async () => {
    const service = await startScriptedService(sendPdf);
    const folder = await makeProject(FILES);
    const env = { ...NO_CACHE, HOME, SERVICE_URL: service.url };
    expect(await runCommand(folder, RENDER, { env })).toMatchObject({ exitCode: 0 });
    expect(service.bodies.map(({ files }) => Object.keys(files))).toEqual([["letters/letter.typ", "lib.typ"]]);
    expect((await readdir(folder)).sort()).toEqual(["app", "out"]);
    // The superuser could make it.
    await expect(access("/nonexistent")).rejects.toThrow("ENOENT");
  });
});

it.skipIf(process.geteuid?.() !== 0)(
  "for a user whom the system does not know, reports as it does with a cache",
  async () => {
    const folder = await makeProject({ ...FILES, "app/cases/a.json": "{}", "app/main.typ": "#data" });
    await cp(dirname(PROGRAM), join(folder, "program"), { recursive: true });
    for (const one of [dirname(folder), folder]) await chmod(one, 0o755);
    await chmod(join(folder, "out"), 0o777);
    const asStranger = (...args: string[]) => {
      const program = [process.execPath, join(folder, "program/main.js"), ...args];
      return execa("setpriv", ["--reuid", "54321", "--regid", "54321", "--clear-groups", ...program], {
        cwd: folder,
        env: {
          ...commandEnvironment(folder),
          ...NO_CACHE,
          HOME: undefined,
          TMPDIR: join(folder, "out"),
          SERVICE_TYPST_BIN: "",
        },
        extendEnv: false,
        reject: false,
      });
    };
    const planned = await asStranger(
      "render",
      "app/letters/letter.typ",
      "--root",
      "app",
      "--dry-run",
      "-o",
      "out/a.pdf",
    );
    expect([planned.exitCode, planned.stderr]).toEqual([0, ""]);
    expect(planned.stdout).toContain("lib.typ");
    // Typst is in the cache of another user, so a case fails; what matters is that it says so.
    const checked = await asStranger("check", "app");
    expect(checked.stderr).not.toContain("    at ");
    expect(checked.exitCode).toBe(2);
  },
);
