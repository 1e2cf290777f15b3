import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finishEInvoice, type ProfileName } from "../../e-invoice/e-invoice.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { generatedInvoice } from "./invoice.ts";
import { type AttachmentOptions, invoiceRequest } from "./invoice-request.ts";
import { invoiceXml } from "./invoice-xml.ts";
import {
  fetchValidators,
  type MustangVerdict,
  type Validators,
  validByVeraPdf,
  verdictsOfMustang,
} from "./validators.ts";

const PROFILES: readonly ProfileName[] = ["MINIMUM", "BASIC WL", "BASIC", "EN 16931", "EXTENDED", "XRECHNUNG"];
/** Mustang gives notice of these for other profiles too, because most invoices in Germany follow them. */
const OF_XRECHNUNG = /^(BR-DE-|PEPPOL-)/;
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

async function rendered(
  profile: ProfileName,
  seed: number,
  xml: string,
  options?: AttachmentOptions,
): Promise<Uint8Array> {
  const answer = await service.render(invoiceRequest(generatedInvoice(profile, seed), xml, seed, options));
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.bytes();
}

function formatOf(profile: ProfileName): "xrechnung" | "factur-x" {
  return profile === "XRECHNUNG" ? "xrechnung" : "factur-x";
}

describe("thirty invoices of each profile, rendered by the service and finished", () => {
  const files: {
    readonly profile: ProfileName;
    readonly path: string;
    readonly name: string;
    readonly seed: number;
  }[] = [];
  let byVeraPdf: Map<string, string>;
  let byMustang: Map<string, MustangVerdict>;
  beforeAll(async () => {
    const finishedFolder = join(folder, "finished");
    await mkdir(finishedFolder);
    for (const profile of PROFILES) {
      for (const seed of SEEDS) {
        const pdf = await rendered(profile, seed, invoiceXml(generatedInvoice(profile, seed)));
        const finished = await finishEInvoice(pdf, { format: formatOf(profile), profile });
        const name = `${profile.replace(" ", "-")}-${seed}.pdf`;
        if (!finished.ok) throw new Error(`${name}: ${JSON.stringify(finished.findings)}`);
        expect(Buffer.from(finished.pdf).indexOf(pdf), "the file as it was is the beginning").toBe(0);
        const path = join(finishedFolder, name);
        await writeFile(path, finished.pdf);
        files.push({ profile, path, name, seed });
      }
    }
    byVeraPdf = await validByVeraPdf(
      validators,
      files.map(({ path }) => path),
    );
    byMustang = await verdictsOfMustang(validators, finishedFolder);
  });

  it.each(PROFILES)("are valid PDF/A-3, and PDF/UA-1 where they claim it, for veraPDF: %s", (profile) => {
    const expected = files.filter((file) => file.profile === profile);
    expect(expected.map(({ path }) => byVeraPdf.get(path))).toEqual(
      expected.map(({ seed }) => ["3b", "3u", "3a", "3a ua1"][seed % 4]),
    );
  });

  it.each(PROFILES)("are valid for Mustang, the PDF and the XML, by no rule complained of: %s", (profile) => {
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

describe("an invoice that is damaged", () => {
  const everySixth = SEEDS.filter((seed) => seed % 6 === 0);

  it.each(PROFILES)("is refused when a total is a cent too high: %s", async (profile) => {
    for (const seed of everySixth) {
      const invoice = generatedInvoice(profile, seed);
      const pdf = await rendered(profile, seed, invoiceXml({ ...invoice, gross: invoice.gross + 1n }));
      const finished = await finishEInvoice(pdf, { format: formatOf(profile), profile });
      const rules = finished.ok ? [] : finished.findings.map(({ rule }) => rule);
      expect(rules.filter((rule) => /^BR-(FXEXT-)?CO-1[56]$/.test(rule))).not.toEqual([]);
    }
  });

  it.each(PROFILES)("is refused when no attachment has the right name: %s", async (profile) => {
    for (const name of ["invoice.xml", "zugferd-invoice.xml", "ZUGFeRD-invoice.xml", "Factur-X.xml"]) {
      const xml = invoiceXml(generatedInvoice(profile, 1));
      const finished = await finishEInvoice(await rendered(profile, 1, xml, { name }), { format: formatOf(profile) });
      expect(finished).toMatchObject({ ok: false, findings: [{ rule: "attachment-name" }] });
    }
  });

  it.each(PROFILES)("is refused when the XML has another profile than is wanted: %s", async (profile) => {
    const pdf = await rendered(profile, 2, invoiceXml(generatedInvoice(profile, 2)));
    for (const wanted of PROFILES.filter((other) => other !== profile && formatOf(other) === formatOf(profile))) {
      const finished = await finishEInvoice(pdf, { format: formatOf(profile), profile: wanted });
      expect(finished).toMatchObject({ ok: false, findings: [{ rule: "profile" }] });
    }
    const xml = invoiceXml(generatedInvoice(profile, 2)).replace(
      /urn:[^<]+(?=<\/ram:ID><\/ram:Guideline)/,
      "urn:cen.eu:en16931:2018",
    );
    const unknown = await finishEInvoice(await rendered(profile, 2, xml), { format: formatOf(profile) });
    expect(unknown).toMatchObject({ ok: false, findings: [{ rule: "profile" }] });
  });
});
