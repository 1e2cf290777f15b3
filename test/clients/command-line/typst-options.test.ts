/** The options of `typst compile`, as READMEs of templates have them: taken, or the command says what to write instead. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeProject, runCommand } from "../../support/clients/command-line.ts";
import { sendPdf, startScriptedService } from "../../support/clients/scripted-service.ts";

async function run(...args: string[]) {
  const service = await startScriptedService(sendPdf);
  const folder = await makeProject({ "d/main.typ": "x", "d/fonts/README": "none", "elsewhere/README": "" });
  return { folder, ...(await runCommand(folder, args, { env: { SERVICE_URL: service.url } })) };
}

it("takes the output as second argument, with the options that mean something here", async () => {
  const more = ["--font-path", "d/fonts", "--ignore-system-fonts", "--root", "d"];
  const { folder, exitCode, stderr } = await run("render", "d/main.typ", "out.pdf", ...more);
  expect([exitCode, stderr]).toEqual([0, expect.stringMatching(/^out\.pdf: [0-9]+ bytes\n$/)]);
  expect(await readFile(join(folder, "out.pdf"), "latin1")).toMatch(/^%PDF-/);
  expect(await run("check", "d/main.typ", "out.png", "--font-path", "d/fonts")).toMatchObject({ exitCode: 0 });
});

it.each([
  [["render", "d", "a.pdf", "-o", "b.pdf"], /^Both a\.pdf and --output name the output: leave one out\.\n$/],
  [["render", "d", "a.pdf", "--ppi", "144"], /^--ppi does not apply to pdf: leave it out\.\n$/],
  [["render", "d", "--font-path", "elsewhere"], /^--font-path elsewhere is not below .*: copy the fonts there,/],
  [["render", "d", "-f", "png"], /^-f png: -f names files here\. The format is --format png\.\n$/],
  [["render", "d", "--package-path", "p"], /^--package-path is an option of typst compile: set TYPST_PACKAGE_PATH/],
  [["check", "d", "--pdf-standard=a-2b"], /^--pdf-standard is an option of typst compile: write --standards a-2b/],
  [["render", "d", "--open"], /^--open is an option of typst compile: write check --open\.\n$/],
])("%j is refused with what to write instead", async (args, words) => {
  const { exitCode, stderr } = await run(...args);
  expect(stderr).toMatch(words);
  expect(exitCode).toBe(2);
});
