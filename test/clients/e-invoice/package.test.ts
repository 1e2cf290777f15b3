/** The package that finishes e-invoices, as `npm run build:e-invoice` makes it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeAll, expect, it } from "vitest";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { blocksOf } from "../../support/readers/markdown-blocks.ts";
import { sharedService } from "../../support/service/test-service.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const service = await sharedService();

const NAME = "document-rendering-e-invoice";
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "e-invoice-program-"));
  const target = join(folder, "node_modules", NAME);
  await execa("node", ["scripts/build-package.ts", "e-invoice", target], { cwd: ROOT, preferLocal: true });
  return () => rm(folder, { recursive: true });
});

it("has no dependencies, and contains the licences of everything in it", async () => {
  const text = (name: string) => readFile(join(folder, "node_modules", NAME, name), "utf8");
  const manifest = JSON.parse(await text("package.json"));
  expect(manifest).toMatchObject({ license: "MIT" });
  expect(manifest).not.toHaveProperty("dependencies");
  const packages = (await text("THIRD-PARTY-LICENSES.txt")).match(/^\S+ \d+\.\d+\.\d+$/gm);
  expect(packages).toEqual([expect.stringMatching(/^fflate /), expect.stringMatching(/^saxes /), "xmlchars 2.2.0"]);
});

it("runs the program of docs/e-invoices.md as it stands, in a folder with nothing but the package and a PDF", async () => {
  const blocks = blocksOf(await readFile(join(ROOT, "docs/e-invoices.md"), "utf8"));
  await writeFile(join(folder, "finish.mts"), blocks.find(({ language }) => language === "ts")?.text ?? "");
  const run = () => execa("node", ["finish.mts"], { cwd: folder, preferLocal: true, localDir: ROOT, reject: false });
  const rendered = await service.render(await exampleRequest("e-invoice"));
  await writeFile(join(folder, "rendered.pdf"), await rendered.bytes());
  expect((await run()).stderr).toBe("");
  expect((await readFile(join(folder, "invoice.pdf"), "latin1")).slice(0, 5)).toBe("%PDF-");
  await writeFile(join(folder, "rendered.pdf"), "no PDF");
  expect((await run()).stderr).not.toBe("");
});
