/**
 * What the schema of an example takes, its template takes: data is drawn from each schema and compiled by the real Typst,
 * as the example asks, and as a PDF that is archived and read aloud.
 *
 * EXAMPLE_DATA_RUNS says how many times for each; a failure names its seed.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { execa } from "execa";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLE_NAMES } from "../../../protocol/routes.ts";
import { writeExampleProject } from "../../../scripts/examples/example-project.ts";
import { DATA_FILE_NAME } from "../../../typst/file-layout.ts";
import { ANY_CHARACTER } from "../../support/any-character.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { anyOf, dataOf, LEAST, MOST, type Schema } from "../../support/clients/drawn-data.ts";

const RUNS = Number(process.env.EXAMPLE_DATA_RUNS ?? 1);
/** At each landing one of the ways is enough for what chance draws. */
const isLong = RUNS > 1;

/** PDF/A takes no empty boxes: these are in Typst's own fonts. */
const DRAWABLE = fc.constantFrom(
  ..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,;:!?-–—…'\"“”„‘’()[]{}<>/\\|#*_$@`~^&%+=§€£№²½",
  ..."äöüßÄÖÜéèêçñøåæœłőžščđğıİțĐŁ",
  ..."αβγδεζηθικλμνξοπρστυφχψωΑΒΓΔΩабвгдежзийклмнопрстуфхцчшщъыьэюяЖЩЮЯЇҐ",
);

/** The strictest that each takes: what it takes, every looser PDF/A, and a file of no standard, take as well. Attached files need PDF/A-3. */
const strictest = (name: string) => [name === "e-invoice" ? "a-3a" : "a-2a", "ua-1"];

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);

let folder = "";
const schemas = new Map<string, Schema>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "example-data-test-"));
  for (const name of EXAMPLE_NAMES) {
    await writeExampleProject(name, join(folder, name));
    const schema = await readFile(new URL(`../../../examples/${name}/data.schema.json`, import.meta.url), "utf8");
    schemas.set(name, JSON.parse(schema));
  }
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** @throws Error with what Typst says */
async function compile(name: string, data: unknown, standards: readonly string[]): Promise<void> {
  const root = join(folder, name);
  await writeFile(join(root, DATA_FILE_NAME), JSON.stringify(data));
  const options = ["--root", root, "--ignore-system-fonts", "--font-path", root, "--creation-timestamp", "0"];
  const asked = standards.length === 0 ? [] : ["--pdf-standard", standards.join(",")];
  await execa(typstPath(), ["compile", ...options, "--format", "pdf", ...asked, join(root, "main.typ"), "-"], {
    stdout: "ignore",
    stdin: "ignore",
  });
}

describe.each(EXAMPLE_NAMES)("the example %s", (name) => {
  it.each([
    { data: "the least data", choices: LEAST, numRuns: 1, standards: strictest(name) },
    { data: "the most data", choices: MOST, numRuns: 1, standards: strictest(name) },
    { data: "any data", choices: anyOf(ANY_CHARACTER), numRuns: RUNS, standards: [] },
    ...(isLong
      ? [{ data: "any data that its fonts have", choices: anyOf(DRAWABLE), numRuns: RUNS, standards: strictest(name) }]
      : []),
  ])("compiles with $data that its schema takes, by $standards", async ({ choices, numRuns, standards }) => {
    const schema = schemas.get(name) ?? {};
    const isTaken = ajv.compile(schema);
    const compiles = fc.asyncProperty(dataOf(schema, choices), async (data) => {
      expect(isTaken(data), ajv.errorsText(isTaken.errors)).toBe(true);
      await compile(name, data, standards);
    });
    await fc.assert(compiles, { numRuns, endOnFailure: true });
  });
});

describe("the schema of the e-invoice", async () => {
  const folder = new URL("../../../examples/e-invoice/", import.meta.url);
  const read = async (name: string) => JSON.parse(await readFile(new URL(name, folder), "utf8"));
  const isTaken = ajv.compile(await read("data.schema.json"));
  const line = { name: "Box", quantity: "-1", unit: "H87", price: "3.85", vat_rate: "19" };
  const exempt = { ...line, vat_rate: "0", vat_category: "E", vat_exemption_reason: "Training" };

  it.each<[string, string, (data: Record<string, unknown>) => object]>([
    ["the rate 0 without a reason (BR-S-05)", "data.json", () => ({ lines: [{ ...line, vat_rate: "0" }] })],
    ["the rate 0.00", "data.json", () => ({ lines: [{ ...line, vat_rate: "0.00" }] })],
    ["a rate that the rules round to 0 (BR-CO-17)", "data.json", () => ({ lines: [{ ...line, vat_rate: "0.49" }] })],
    ["a rate for what is exempt (BR-E-05)", "data.json", () => ({ lines: [{ ...exempt, vat_rate: "19" }] })],
    [
      "no reason for what is exempt (BR-E-10)",
      "data.json",
      () => ({ lines: [{ ...exempt, vat_exemption_reason: undefined }] }),
    ],
    ["a price below 0 (BR-27)", "data.json", () => ({ lines: [{ ...line, price: "-4.00" }] })],
    ["a currency that is gone (BR-CL-04)", "data.json", () => ({ currency: "BGN" })],
    ["a currency of three decimals (BR-DEC-12)", "data.json", () => ({ currency: "KWD" })],
    ["an unknown country (BR-CL-14)", "data.json", ({ buyer }) => ({ buyer: { ...Object(buyer), country: "QQ" } })],
    [
      "a VAT number without country (BR-CO-09)",
      "data.json",
      ({ seller }) => ({ seller: { ...Object(seller), vat_id: "999999990" } }),
    ],
    ["a blank name (BR-25)", "data.json", () => ({ lines: [{ ...line, name: " " }] })],
    ["a control character, which is not XML", "data.json", () => ({ number: "1\u0007" })],
    [
      "reverse charge without the buyer's VAT number (BR-AE-02)",
      "cases/without-vat.json",
      ({ buyer }) => ({ buyer: { ...Object(buyer), vat_id: undefined } }),
    ],
    ["no notes between firms in France (BR-FR-05)", "cases/french.json", () => ({ notes: {} })],
    [
      "no SIREN there (BR-FR-10)",
      "cases/french.json",
      ({ seller }) => ({ seller: { ...Object(seller), legal_id: { scheme: "0002", id: "12345678" } } }),
    ],
    [
      "no address there (BR-FR-12)",
      "cases/french.json",
      ({ buyer }) => ({ buyer: { ...Object(buyer), electronic_address: undefined } }),
    ],
    ["no process there (BR-FR-08)", "cases/french.json", () => ({ business_process: "380" })],
  ])("refuses %s", async (_mistake, file, change) => {
    const data = await read(file);
    expect(isTaken(data), ajv.errorsText(isTaken.errors)).toBe(true);
    expect(isTaken(JSON.parse(JSON.stringify({ ...data, ...change(data) })))).toBe(false);
  });
});
