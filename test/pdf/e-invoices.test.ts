import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finishEInvoice, type ProfileName } from "../../clients/e-invoice/e-invoice.ts";
import { exampleRequest } from "../../scripts/examples/example-request.ts";
import { startTestService, type TestService } from "../support/service/test-service.ts";
import { generatedInvoice } from "./invoice.ts";
import { invoiceRequest } from "./invoice-request.ts";
import { invoiceXml } from "./invoice-xml.ts";
import {
  fetchValidators,
  type MustangVerdict,
  rulesBrokenForKosit,
  type Validators,
  validByVeraPdf,
  verdictsOfMustang,
} from "./validators.ts";

const PROFILES: readonly ProfileName[] = ["MINIMUM", "BASIC WL", "BASIC", "EN 16931", "EXTENDED", "XRECHNUNG"];
/** Mustang also reports these for other profiles, because most invoices in Germany follow them. */
const OF_XRECHNUNG = /^(BR-DE-|PEPPOL-)/;
const EXAMPLE = "example.pdf";
const INVOICES_PER_PROFILE = 30;
const SEEDS = Array.from({ length: INVOICES_PER_PROFILE }, (_, seed) => seed);

let folder: string;
let service: TestService;
let validators: Validators;
beforeAll(async () => {
  validators = await fetchValidators();
  folder = await mkdtemp(join(tmpdir(), "e-invoices-"));
  service = await startTestService();
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function rendered(profile: ProfileName, seed: number): Promise<Uint8Array> {
  const invoice = generatedInvoice(profile, seed);
  const answer = await service.render(invoiceRequest(invoice, invoiceXml(invoice), seed));
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.bytes();
}

function formatOf(profile: ProfileName): "xrechnung" | "factur-x" {
  return profile === "XRECHNUNG" ? "xrechnung" : "factur-x";
}

describe("thirty invoices of each profile, rendered by the service and finished", () => {
  const files: { profile: ProfileName; path: string; name: string; seed: number }[] = [];
  let byVeraPdf: Map<string, string>;
  let byMustang: Map<string, MustangVerdict>;
  beforeAll(async () => {
    const finishedFolder = join(folder, "finished");
    await mkdir(finishedFolder);
    for (const profile of PROFILES) {
      for (const seed of SEEDS) {
        const pdf = await rendered(profile, seed);
        const finished = await finishEInvoice(pdf, { format: formatOf(profile), profile });
        const name = `${profile.replace(" ", "-")}-${seed}.pdf`;
        if (!finished.ok) throw new Error(`${name}: ${JSON.stringify(finished.findings)}`);
        expect(Buffer.from(finished.pdf).indexOf(pdf), "the file as it was is the beginning").toBe(0);
        const path = join(finishedFolder, name);
        await writeFile(path, finished.pdf);
        files.push({ profile, path, name, seed });
      }
    }
    const answer = await service.render(await exampleRequest("e-invoice"));
    const example = await finishEInvoice(await answer.bytes(), { format: "factur-x", profile: "EN 16931" });
    await writeFile(join(finishedFolder, EXAMPLE), example.ok ? example.pdf : "");
    byVeraPdf = await validByVeraPdf(validators, [...files.map(({ path }) => path), join(finishedFolder, EXAMPLE)]);
    byMustang = await verdictsOfMustang(validators, finishedFolder);
  });

  it.each(PROFILES)("are valid PDF/A-3, and PDF/UA-1 where they claim it, for veraPDF: %s", (profile) => {
    const expected = files.filter((file) => file.profile === profile);
    expect(expected.map(({ path }) => byVeraPdf.get(path))).toEqual(
      expected.map(({ seed }) => ["3b", "3u", "3a", "3a ua1"][seed % 4]),
    );
  });

  it("are as valid as the example of the documentation", () => {
    expect(byVeraPdf.get(join(folder, "finished", EXAMPLE))).toBe("3b");
    const { pdf, xml, rules = [] } = byMustang.get(EXAMPLE) ?? {};
    expect([pdf, xml, rules.filter((rule) => !OF_XRECHNUNG.test(rule))]).toEqual(["valid", "valid", []]);
  });

  it.each(PROFILES)("are valid for Mustang, both PDF and XML, without a complaint by any rule: %s", (profile) => {
    const expected = files.filter((file) => file.profile === profile);
    expect(expected).toHaveLength(INVOICES_PER_PROFILE);
    for (const { name } of expected) {
      const { pdf, xml, rules } = byMustang.get(name) ?? {};
      expect([name, pdf, xml, rules?.filter((rule) => profile === "XRECHNUNG" || !OF_XRECHNUNG.test(rule))]).toEqual([
        name,
        "valid",
        "valid",
        [],
      ]);
    }
  });
});

it("every XRechnung follows the rules of CEN and of KoSIT, which find what a damaged one breaks", async () => {
  const invoices = join(folder, "xrechnung");
  await mkdir(invoices);
  const write = (name: string, xml: string) => writeFile(join(invoices, `${name}.xml`), xml);
  for (const seed of SEEDS) await write(`${seed}`, invoiceXml(generatedInvoice("XRECHNUNG", seed)));
  const invoice = generatedInvoice("XRECHNUNG", 0);
  const damaged = invoiceXml({ ...invoice, gross: invoice.gross + 1n });
  await write("damaged", damaged.replace(/<ram:BuyerReference>.*?<\/ram:BuyerReference>/, ""));
  const broken = await rulesBrokenForKosit(validators, invoices);
  expect(broken.get("damaged.xml")).toEqual(expect.arrayContaining(["BR-CO-15", "BR-DE-15"]));
  broken.delete("damaged.xml");
  expect(Object.fromEntries(broken)).toEqual(Object.fromEntries(SEEDS.map((seed) => [`${seed}.xml`, []])));
});
