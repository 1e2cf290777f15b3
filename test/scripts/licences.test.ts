/** The licences of what is served and shipped: `/licenses`, and the file in `dist/edge`, the images and the release. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { FILE_ROUTES } from "../../protocol/routes.ts";
import { licenceOfFont } from "../../scripts/assets/embedded-fonts.ts";
import { licencesOfPackages } from "../../scripts/assets/licences.ts";
import { provideStaticAssets } from "../../scripts/assets/static-assets.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
let text = "";
let titles: ReadonlySet<string>;

beforeAll(async () => {
  await provideStaticAssets();
  text = await readFile(join(PROJECT, "edge/static/licenses.txt"), "utf8");
  titles = new Set(text.split(`\n${"-".repeat(80)}\n\n`).map((section) => section.split("\n", 1)[0] ?? ""));
});

it("has what the pages are made of, the programs, and each font", () => {
  const named = [...titles].map((title) => title.split(" ")[0]);
  const pages = ["@codemirror/view", "pdfjs-dist", "@myriaddreamin/typst-ts-web-compiler", "swagger-ui-dist"];
  const programs = ["Typst", `node-${process.platform}-${process.arch}`];
  const fonts = FILE_ROUTES.flatMap(({ path }) => path.match(/[^/]+[.](?:otf|ttf)$/) ?? []);
  expect(fonts).toHaveLength(3);
  for (const name of [...pages, ...programs, ...fonts]) expect(named).toContain(name);
  expect(text.match(/SIL OPEN FONT LICENSE|GUST Font License|Bitstream Vera/g)).not.toBeNull();
  expect(text).not.toContain(PROJECT);
});

it("is not made where a package has no licence to pass on", async () => {
  const folder = await makeTemporaryFolder("licences-");
  const licencesOf = async (manifest: object, ...files: readonly string[]) => {
    const path = join(folder, String(Math.random()));
    await mkdir(path);
    await writeFile(join(path, "package.json"), JSON.stringify({ name: "one", version: "1.0.0", ...manifest }));
    for (const file of files) await writeFile(join(path, file), "What may be done");
    return licencesOfPackages([path]);
  };
  await expect(licencesOf({})).rejects.toThrow("one has no licence");
  await expect(licencesOf({ license: "SEE LICENSE IN other.txt" })).rejects.toThrow("one has no licence");
  expect(await licencesOf({ license: "MIT", author: { name: "Ada" } })).toMatch(
    /^one 1[.]0[.]0\n\nMIT[.] Ada\n\n-+\n\nMIT\n\nPermission/,
  );
  expect(await licencesOf({}, "LICENSE-of.md")).toBe("one 1.0.0\n\nWhat may be done\n");
});

it("is not made where a font says nothing of its licence", async () => {
  const font = await readFile(join(PROJECT, "edge/static/playground/libertinus-serif.otf"));
  expect(licenceOfFont(font)).toContain("SIL Open Font License");
  const silent = Buffer.from(
    font.toString("latin1").replaceAll("\0l\0i\0c\0e\0n\0s\0e", "\0m\0y\0s\0t\0e\0r\0y"),
    "latin1",
  );
  const also = Buffer.from(
    silent.toString("latin1").replaceAll("\0L\0i\0c\0e\0n\0s\0e", "\0m\0y\0s\0t\0e\0r\0y"),
    "latin1",
  );
  expect(() => licenceOfFont(also)).toThrow("no licence");
});
