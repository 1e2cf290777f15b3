/** The package that finishes e-invoices, as `npm run build:e-invoice` makes it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

it("has no dependencies, and contains the licences of everything in it", async () => {
  const folder = join(await makeTemporaryFolder("package-"), "e-invoice");
  await execa("node", ["scripts/build-package.ts", "e-invoice", folder], { cwd: ROOT, preferLocal: true });
  const text = (name: string) => readFile(join(folder, name), "utf8");
  const manifest = JSON.parse(await text("package.json"));
  expect(manifest).toMatchObject({ license: "MIT" });
  expect(manifest).not.toHaveProperty("dependencies");
  const packages = (await text("THIRD-PARTY-LICENSES.txt")).match(/^\S+ \d+\.\d+\.\d+$/gm);
  expect(packages).toEqual([expect.stringMatching(/^fflate /), expect.stringMatching(/^saxes /), "xmlchars 2.2.0"]);
});
