/** The options of a draft that the playground has saved, in the folder that the command line checks and renders. */
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type DraftOutput, draftFile, FileContent } from "../../../clients/playground/drafts/draft.ts";
import { folderOfDraft } from "../../../clients/playground/drafts/project-folder.ts";
import { makeProject, runCommand, writeProject } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const LOGO = draftFile("logo.svg", new FileContent('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'));
const ACCESSIBLE: DraftOutput = { format: "pdf", members: { standards: '["a-2b","ua-1"]' } };

/** A folder as "Save ZIP" makes it. */
async function savedFolder(output: DraftOutput, source = '#set document(title: "T")\n#image("logo.svg")#data.a') {
  const folder = await makeTemporaryFolder("command-");
  const files = folderOfDraft({ source, data: '{"a": 1}', files: [LOGO], output });
  if (typeof files === "string") throw new Error(files);
  await writeProject(folder, Object.fromEntries(files.map(({ path, bytes }) => [`draft/${path}`, bytes])));
  return folder;
}

async function withOptions(text: string, args: readonly string[] = ["check", "draft"]) {
  const folder = await makeProject({ "draft/main.typ": "x", "draft/.playground.json": text });
  return runCommand(folder, args);
}

/** The `output` that a command would send. */
async function plannedOutput(text: string, ...args: string[]): Promise<unknown> {
  const { stdout, stderr } = await withOptions(text, ["render", "draft", "--dry-run", "--json", ...args]);
  expect(stderr).toBe("");
  return JSON.parse(stdout).output;
}

describe("a draft that was saved with PDF/A-2b and PDF/UA-1", () => {
  it.each([[["check", "draft"]], [["check", "draft/main.typ"]], [["check", "draft", "--each", "draft/data.json"]]])(
    "is checked by these: a picture without alt is found by %j",
    async (args) => {
      const folder = await savedFolder(ACCESSIBLE);
      if (args.includes("--each")) await writeFile(join(folder, "draft/data.json"), '[{"a": 1}]');
      const { stderr, exitCode } = await runCommand(folder, args);
      expect(stderr).toContain("Options from .playground.json: format pdf, standards a-2b,ua-1\n");
      expect(stderr).toContain("PDF/UA-1 error: missing alt text");
      expect(exitCode).toBe(4);
    },
  );

  it("is rendered by these, and they are named by --dry-run", async () => {
    const folder = await savedFolder(ACCESSIBLE);
    const service = await startScriptedService(sendPdf);
    const { stderr } = await runCommand(folder, ["render", "draft"], { env: { SERVICE_URL: service.url } });
    expect(stderr).toContain("Options from .playground.json: format pdf, standards a-2b,ua-1\n");
    expect(service.bodies).toMatchObject([{ output: { format: "pdf", standards: ["a-2b", "ua-1"] } }]);
    const { stdout } = await runCommand(folder, ["render", "draft", "--dry-run"]);
    expect(stdout).toContain('Output: {"format":"pdf","standards":["a-2b","ua-1"]}');
    await writeProject(folder, { "draft/other.typ": "= Another source, without a title" });
    const other = await runCommand(folder, ["check", "draft/other.typ"]);
    expect(other.stderr).toBe("draft/other.typ compiles.\n");
  });
});

describe("an option of the command line", () => {
  it.each([
    ['{"standards": ["a-2b"], "version": "1.6"}', ["--standards", "ua-1"], { format: "pdf", standards: ["ua-1"] }],
    ['{"pages": "1", "filename": "a"}', ["--pages", "2-"], { format: "pdf", pages: "2-", filename: "a" }],
    ['{"standards": ["a-2b"]}', ["-o", "x.png"], { format: "png" }],
    ['{"format": "png", "ppi": 96, "page": 2}', ["--page", "3"], { format: "png", ppi: 96, page: 3 }],
    ['{"format": "png", "ppi": 96, "page": 2}', ["--archive"], { format: "png", ppi: 96, archive: "zip" }],
    ['{"format": "svg", "archive": "zip", "pages": "1"}', ["-o", "x.svg"], { format: "svg" }],
  ])("takes the place of what is saved and contradicts it: %s %j", async (saved, args, output) => {
    expect(await plannedOutput(saved, ...args)).toEqual(output);
  });

  it("of another format is said to leave them unused", async () => {
    const { stderr } = await withOptions('{"standards": ["a-2b"]}', ["check", "draft", "--format", "svg"]);
    expect(stderr).toContain("The options in .playground.json are for pdf, so they are not used.\n");
  });
});

describe("a file of options", () => {
  it.each([
    ["}", "it is not a JSON object"],
    [`{"pages":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, "it is not a JSON object"],
    [" ".repeat(65_537), "it has more than 65536 bytes"],
    ['{"format": "docx\\u001b[31m"}', 'format must be pdf, png or svg, not "docx\\u001b[31m"'],
    ['{"ppi": 96}', "ppi is not an option of pdf"],
  ])("that cannot be used is named in a sentence (%#)", async (text, why) => {
    const { stderr, exitCode } = await withOptions(text);
    expect(stderr).toBe(`.playground.json cannot be used: ${why}. Save the draft again, or remove the file.\n`);
    expect(exitCode).toBe(2);
  });

  it("may have members that this version does not know", async () => {
    const { stderr, exitCode } = await withOptions('{"standards": ["ua-1"], "__proto__": {}, "paper": "a4"}');
    expect(stderr).toContain("Options from .playground.json: format pdf, standards ua-1\n");
    expect(exitCode).toBe(4);
  });

  it("is not read through a link that leads out of the folder, and a folder of its name is none", async () => {
    const folder = await savedFolder(ACCESSIBLE, "x");
    const path = join(folder, "draft/.playground.json");
    await writeProject(folder, { "secret.json": '{"filename": "secret"}' });
    await rm(path);
    await symlink("../secret.json", path);
    const linked = await runCommand(folder, ["check", "draft"]);
    expect(linked.stderr).toMatch(/^\.playground\.json is not sent: a link leads out of the folder/);
    expect(linked.stderr).not.toContain("secret");
    expect(linked.exitCode).toBe(2);
    await rm(path);
    await mkdir(path);
    expect((await runCommand(folder, ["check", "draft"])).exitCode).toBe(0);
  });
});
