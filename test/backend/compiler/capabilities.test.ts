/** What a backend says that it has installed, and folders that it cannot use. */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { parseFontList } from "../../../backend/compiler/capabilities.ts";
import { listPackages, PACKAGES_LOCK_NAME } from "../../../backend/compiler/vendored-packages.ts";
import { type Capabilities, parseCapabilities } from "../../../protocol/capabilities.ts";
import { addPackages } from "../../../scripts/packages/package-folder.ts";
import { SCRIPTS_OF_TYPST } from "../../../typst/fonts/scripts.ts";
import { startTemporaryBackend } from "../../support/backend/test-backend.ts";
import { eachSandbox, MODES } from "../../support/backend/test-sandbox.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { packageArchive, startPackageRegistry } from "../../support/clients/package-registry.ts";
import { characterTable, LIBERATION_FAMILY, LIBERATION_FOLDER, liberation, withTables } from "../../support/fonts.ts";
import { expectProblem } from "../../support/problems.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const LETTER = { namespace: "preview", name: "letter", version: "1.0.0" };
const EMBEDDED = ["DejaVu Sans Mono", "Libertinus Serif", "New Computer Modern", "New Computer Modern Math"];

async function read(answer: Response): Promise<Capabilities> {
  expect(answer.status).toBe(200);
  expect(answer.headers.get("Content-Type")).toBe("application/json");
  const parsed = parseCapabilities(await answer.text());
  if (parsed === null) throw new Error("no capabilities");
  return parsed;
}

/** A folder with `@preview/letter:1.0.0` and its lock file. */
async function packageFolder(): Promise<string> {
  const folder = await makeTemporaryFolder("capabilities-test-");
  const registry = await startPackageRegistry();
  registry.publish("@preview/letter:1.0.0", await packageArchive("@preview/letter:1.0.0", { "lib.typ": "" }));
  await addPackages(folder, [LETTER], { registry: registry.url, without: [] });
  return folder;
}

eachSandbox(describe, MODES)("in %s", (sandbox) => {
  it("fonts and packages are those that a render finds", async () => {
    const backend = await startTemporaryBackend({
      SERVICE_SANDBOX: sandbox,
      SERVICE_FONT_PATHS: LIBERATION_FOLDER,
      SERVICE_PACKAGE_PATH: await packageFolder(),
    });
    const { fonts, packages, typst_versions } = await read(await backend.fetch("/capabilities.json"));
    expect(fonts.map(({ family }) => family)).toEqual(expect.arrayContaining([...EMBEDDED, LIBERATION_FAMILY]));
    expect(fonts.every(({ variants }) => variants.length > 0)).toBe(true);
    expect(packages).toEqual([LETTER]);
    expect(typst_versions).toEqual(["0.15.1"]);
    expect(await backend.projects()).toEqual([]);
  });
});

it("without settings there are the fonts of Typst alone, and no packages", async () => {
  const backend = await startTemporaryBackend();
  const { fonts, packages, scripts } = await read(await backend.fetch("/capabilities.json"));
  expect(fonts.map(({ family }) => family)).toEqual(EMBEDDED);
  expect(packages).toEqual([]);
  expect(scripts).toEqual(SCRIPTS_OF_TYPST);
});

it("scripts are those of the operator's fonts too, but not of a font for formulas if their letters join", async () => {
  const folder = await makeTemporaryFolder("scripts-test-");
  await mkdir(join(folder, "deep"));
  const regular = await liberation("Regular");
  const [hiragana, devanagari] = [characterTable([0x3041, 0x3096]), characterTable([0x904, 0x939])];
  const MATH = Buffer.alloc(10);
  const scriptsWith = async (font: Buffer) => {
    await writeFile(join(folder, "deep", "font.TTF"), font);
    await writeFile(join(folder, "deep", "none.ttf"), "no font");
    const backend = await startTemporaryBackend({ SERVICE_FONT_PATHS: folder });
    return (await read(await backend.fetch("/capabilities.json"))).scripts;
  };
  expect(await scriptsWith(withTables(regular, { cmap: devanagari }))).toEqual([...SCRIPTS_OF_TYPST, "Deva"].sort());
  expect(await scriptsWith(withTables(regular, { cmap: devanagari, MATH }))).toEqual(SCRIPTS_OF_TYPST);
  expect(await scriptsWith(withTables(regular, { cmap: hiragana, MATH }))).toEqual(
    [...SCRIPTS_OF_TYPST, "Hira"].sort(),
  );
});

it("backends with the same capabilities have the same digest in their metrics, once it is known", async () => {
  const backends = await Promise.all([
    startTemporaryBackend(),
    startTemporaryBackend(),
    startTemporaryBackend({ SERVICE_FONT_PATHS: LIBERATION_FOLDER }),
  ]);
  const digests: (string | undefined)[] = [];
  for (const backend of backends) {
    expect((await backend.metrics()).some(({ name }) => name === "service_capabilities_info")).toBe(false);
    const answer = await backend.fetch("/capabilities.json");
    const sample = (await backend.metrics()).find(({ name }) => name === "service_capabilities_info");
    expect(answer.headers.get("ETag")).toBe(`"${sample?.labels.digest}"`);
    digests.push(sample?.labels.digest);
  }
  expect(digests[0]).toMatch(/^[0-9a-f]{32}$/);
  expect(digests[1]).toBe(digests[0]);
  expect(digests[2]).not.toBe(digests[0]);
});

it("the operator's own packages need not be in the lock file", async () => {
  const folder = await packageFolder();
  await cp(join(folder, "preview"), join(folder, "local"), { recursive: true });
  await writeFile(join(folder, "notes.txt"), "");
  await mkdir(join(folder, "preview/letter/not-a-version"));
  const backend = await startTemporaryBackend({ SERVICE_PACKAGE_PATH: folder });
  const { packages } = await read(await backend.fetch("/capabilities.json"));
  expect(packages).toEqual([{ ...LETTER, namespace: "local" }, LETTER]);
});

it("a package that the lock file lists must be there", async () => {
  const folder = await packageFolder();
  await rm(join(folder, "preview/letter"), { recursive: true });
  const backend = await startTemporaryBackend({ SERVICE_PACKAGE_PATH: folder });
  await expectProblem(await backend.fetch("/capabilities.json"), "service_unavailable");
  await expect(backend.findCapabilities()).rejects.toThrow(
    "SERVICE_PACKAGE_PATH lacks @preview/letter:1.0.0, which packages-lock.json lists: run `npm run packages -- install`.",
  );
  await writeFile(join(folder, PACKAGES_LOCK_NAME), "{");
  await expect(backend.findCapabilities()).rejects.toThrow("SERVICE_PACKAGE_PATH: ");
});

it("there may be as many packages as the limit, and no more", async () => {
  const folder = await packageFolder();
  expect(await listPackages(folder, 1)).toEqual([LETTER]);
  await expect(listPackages(folder, 0)).rejects.toThrow("more than 0 packages");
});

const USUAL = { min: 100, max: 100 };
const weight = (value: number) => ({ min: value, max: value });

it("the list of fonts has each family with its styles and weights, as Typst prints them", async () => {
  const options = ["--variants", "--ignore-system-fonts", "--font-path", LIBERATION_FOLDER];
  const { stdout } = await execa(typstPath(), ["fonts", ...options]);
  const fonts = parseFontList(stdout);
  const names = (await execa(typstPath(), ["fonts", ...options.slice(1)])).stdout.split("\n");
  expect(fonts.map(({ family }) => family)).toEqual(names);
  const liberation = fonts.find(({ family }) => family === LIBERATION_FAMILY);
  expect(liberation?.variants).toEqual([
    { style: "italic", weight: weight(400), stretch_percent: USUAL },
    { style: "normal", weight: weight(400), stretch_percent: USUAL },
    { style: "italic", weight: weight(700), stretch_percent: USUAL },
    { style: "normal", weight: weight(700), stretch_percent: USUAL },
  ]);
});

/** As Typst 0.15.1 prints Debian's fonts-inter-variable. */
const VARIABLE = `Inter
  ├ /fonts/0/Inter-italic.var.ttf (Variable)
  │   Style: Italic
  │   Stretch: 100%
  │   Weight: 100-900 (Default: 400)
  └ /fonts/0/Inter.var.ttf (Variable)
      Stretch: 62.5%-125% (Default: 100%)
      Slant: -10-0 (Default: 0)
      Weight: 100-900 (Default: 400)

Weight: 1, a family
  ├ /fonts/0/Style: Italic.ttf
  │   Style: Normal, Weight: 350, Stretch: 87.5%
  └ /fonts/0/twice.ttf
      Style: Normal, Weight: 350, Stretch: 87.5%
`;

it("the list of fonts has the ranges of variable fonts, each variant once, whatever the names of files look like", () => {
  const range = { min: 100, max: 900 };
  expect(parseFontList(VARIABLE)).toEqual([
    {
      family: "Inter",
      variants: [
        { style: "normal", weight: range, stretch_percent: { min: 62.5, max: 125 } },
        { style: "oblique", weight: range, stretch_percent: { min: 62.5, max: 125 } },
        { style: "italic", weight: range, stretch_percent: USUAL },
      ],
    },
    {
      family: "Weight: 1, a family",
      variants: [{ style: "normal", weight: weight(350), stretch_percent: { min: 87.5, max: 87.5 } }],
    },
  ]);
});
