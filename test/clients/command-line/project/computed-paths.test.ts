/** What is said of files that a template reads by computed paths and that are not sent. */
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { problem } from "../../../../rules/problem.ts";
import { makeProject, runCommand } from "../../../support/clients/command-line.ts";
import { reject, startScriptedService } from "../../../support/clients/scripted-service.ts";

it("a case sends the files that its data names", async () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
  const source = '#image("img/" + data.logo)';
  const folder = await makeProject({ "t/a.typ": source, "t/img/a.svg": svg, "t/cases/one.json": '{"logo": "a.svg"}' });
  expect((await runCommand(folder, ["test", "t/a.typ", "--update"])).stderr).toContain("1 of 1 cases passed.");
});

describe("check names the file that is there, that the template reads first and that is not sent", () => {
  it("with the option that sends it", async () => {
    const files = {
      "r/a.typ": '#for i in range(1, 4) [#read("n-" + str(i) + ".txt")]#data',
      "r/n-1.txt": "1",
      "r/n-2.txt": "2",
      "r/n-3.txt": "3",
      "row.jsonl": "{}",
    };
    const folder = await makeProject(files);
    const { stderr, exitCode } = await runCommand(folder, ["check", "r/a.typ"]);
    expect(stderr).toContain(
      "note: n-1.txt exists but is not sent, because the template computes its name: add --files n-1.txt, or --files '*.txt' for all of its kind there.\n",
    );
    expect(exitCode).toBe(4);
    expect((await runCommand(folder, ["check", "r/a.typ", "--files", "*.txt"])).exitCode).toBe(0);
    const each = await runCommand(folder, ["check", "r/a.typ", "--each", "row.jsonl"]);
    expect(each.stderr).toContain("note: n-1.txt exists but is not sent, because the template computes its name");
  });

  it("below the root too, from the folder of the source", async () => {
    const files = {
      "p/typst.toml": "",
      "p/lib.typ": "",
      "p/n-1.txt": "1",
      "p/d/a.typ": '#import "../lib.typ"\n#read("../n-" + str(1) + ".txt")',
    };
    const { stderr } = await runCommand(await makeProject(files), ["check", "p/d/a.typ"]);
    expect(stderr).toContain(
      "n-1.txt exists but is not sent, because the template computes its name: add --files ../n-1.txt, or --files '../*.txt' for all of its kind there.\n",
    );
  });

  it("but none that a link leads out to", async () => {
    const folder = await makeProject({ "p/a.typ": '#read("n-" + str(1) + ".txt")', "secret.txt": "1" });
    await symlink("../secret.txt", join(folder, "p/n-1.txt"));
    expect((await runCommand(folder, ["check", "p/a.typ"])).stderr).not.toContain("is there");
  });
});

it("a template that the service cannot compile is told that names are all that is known of such paths", async () => {
  const failed = problem("template_compile_failed", "It does not compile.", {});
  const service = await startScriptedService(reject(failed));
  const folder = await makeProject({ "a.typ": '#read("n-" + str(1))', "b.typ": "#oops()" });
  const answer = async (source: string) =>
    (await runCommand(folder, ["render", source], { env: { SERVICE_URL: service.url } })).stderr;
  expect(await answer("a.typ")).toContain("Files whose names are neither in it nor in the data are not sent");
  expect(await answer("b.typ")).not.toContain("paths");
});
