/** What an operator provides for every render: fonts, packages, a creation date. */
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { eachSandbox, MODES } from "../../support/backend/test-sandbox.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { LIBERATION_FAMILY, LIBERATION_FOLDER } from "../../support/fonts.ts";
import { expectProblem } from "../../support/problems.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const REGULAR = "LiberationSans-Regular.ttf";

/** The width tells fonts apart, whatever Typst uses for a missing one. */
async function widthIn(backend: TestBackend, family: string): Promise<string> {
  const source = `#context [#measure(text(font: "${family}", size: 100pt)[Wimmer]).width]`;
  return (await readPdf(await backend.renderFile({ source }))).pageTexts.join();
}

eachSandbox(describe, MODES)("in %s", (sandbox) => {
  const start = (settings: Readonly<Record<string, string>> = {}) =>
    startTemporaryBackend({ SERVICE_SANDBOX: sandbox, ...settings });

  it("every render can use each folder of fonts, and a PDF contains a font of it, which cannot be read as a file", async () => {
    const folder = await makeTemporaryFolder("operator-test-");
    await copyFile(join(LIBERATION_FOLDER, REGULAR), join(folder, REGULAR));
    for (const paths of [LIBERATION_FOLDER, `${await makeTemporaryFolder("operator-test-")}:${folder}`]) {
      const backend = await start({ SERVICE_FONT_PATHS: paths });
      const source = `#set text(font: "${LIBERATION_FAMILY}")\nHello`;
      expect((await backend.renderFile({ source })).toString("latin1")).toContain("LiberationSans");
      expect(await widthIn(backend, LIBERATION_FAMILY)).not.toBe(await widthIn(backend, "no such font"));
      for (const path of [join(folder, REGULAR), join(LIBERATION_FOLDER, REGULAR), `/fonts/0/${REGULAR}`]) {
        const attack = { source: `#read("${path}", encoding: none)` };
        await expectProblem(await backend.render(attack), "template_compile_failed");
      }
    }
  });

  it("a font of the host cannot be used, although Typst would find it", async () => {
    const home = await makeTemporaryFolder("operator-test-");
    await mkdir(join(home, ".local/share/fonts"), { recursive: true });
    await copyFile(join(LIBERATION_FOLDER, REGULAR), join(home, ".local/share/fonts", REGULAR));
    const typst = await execa(typstPath(), ["fonts"], { env: { HOME: home }, extendEnv: false });
    expect(typst.stdout.split("\n")).toContain(LIBERATION_FAMILY);
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const backend = await start();
    expect(await widthIn(backend, LIBERATION_FAMILY)).toBe(await widthIn(backend, "no such font"));
  });
});

it("equal requests give equal files with a creation date", async () => {
  const backend = await startTemporaryBackend({ SERVICE_CREATION_TIMESTAMP: "1000000000" });
  const body = { source: "#datetime.today().display()" };
  const [first, second] = [await backend.renderFile(body), await backend.renderFile(body)];
  expect(Buffer.compare(first, second)).toBe(0);
  expect(first.toString("latin1")).toContain("20010909014640");
  expect((await readPdf(first)).pageTexts).toEqual(["2001-09-09"]);
});
