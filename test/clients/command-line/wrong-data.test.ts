/** A template that does not use the caller's data would make a wrong document without a word. Here are the words. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeProject, type ProjectFiles, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";
import { sharedService } from "../../support/service/test-service.ts";

async function begin(files: ProjectFiles) {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject(files);
  const run = (...args: string[]) => runCommand(folder, args, { env: { SERVICE_URL: service.url } });
  return { service, folder, run };
}

describe("documents that are the same although their rows differ", () => {
  const files = {
    // The data is a parameter here, whatever its name says.
    "a.typ": '#let letter(row) = if row.name == "Linus" [= Other] else [= Same]\n#letter(data)',
    "people.jsonl": '{"name": "Grace"}\n{"name": "Ada"}\n{"name": "Linus"}\n{"name": "Linus"}\n',
  };
  const said = (first: string, second: string) =>
    `2 documents are the same although their rows differ (${first}, ${second}): does the template use \`data\`?`;

  it.each(["pdf", "png"])("are named in the summary: %s", async (format) => {
    const service = await sharedService();
    const folder = await makeProject(files);
    const env = { SERVICE_URL: service.edge.url.origin };
    const args = ["render", "a.typ", "--each", "people.jsonl", "-o", `out/{#}.${format}`, "--jobs", "1"];
    const run = await runCommand(folder, args, { env });
    const sentence = said(`out/1.${format}`, `out/2.${format}`);
    expect(run).toMatchObject({ exitCode: 0, stderr: `note: ${sentence}\n4 of 4 documents rendered.\n` });
    const json = await runCommand(folder, [...args, "--overwrite", "--json", "--strict"], { env });
    expect(json.exitCode).toBe(4);
    expect(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ made: 4, notes: [sentence] });
    expect(await readdir(join(folder, "out"))).toHaveLength(4);
  });

  it("are named by check", async () => {
    const { run } = await begin(files);
    const sentence = said("line 1", "line 2");
    const noted = await run("check", "a.typ", "--each", "people.jsonl");
    expect(noted).toMatchObject({ exitCode: 0, stderr: `note: ${sentence}\n4 of 4 documents compile.\n` });
    expect((await run("check", "a.typ", "--each", "people.jsonl", "--strict")).exitCode).toBe(4);
  });
});

it("the summary names the columns of CSV, in which a missing header row shows", async () => {
  const { run } = await begin({
    "a.typ": '#data.at("name", default: "?")',
    "list.csv": "Ada,first prize\nLinus,second prize\n",
    "wide.csv": `${Array.from({ length: 12 }, (_, index) => `c${index}${"x".repeat(50)}`).join(";")}\n${"a;".repeat(11)}a\n`,
  });
  const reading = 'list.csv: columns "Ada", "first prize", separated by ","; 1 row';
  const json = await run("render", "a.typ", "--each", "list.csv", "-o", "more/{#}.pdf", "--json");
  expect(JSON.parse(json.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ reading });
  const wide = await run("check", "a.typ", "--each", "wide.csv");
  expect(wide.stderr).toMatch(/columns "c0x{38}…", .*, "c9x{38}…" and 2 more, separated by ";"; 1 row\n/);
});
