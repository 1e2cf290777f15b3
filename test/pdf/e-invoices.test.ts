import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finishEInvoice, type ProfileName } from "../../e-invoice/e-invoice.ts";
import { invoiceFindings, readInvoice } from "../../e-invoice/invoice-xml.ts";
import { startTestService, type TestService } from "../support/test-service.ts";
import { generatedInvoice } from "./invoice.ts";
import { type AttachmentOptions, invoiceRequest } from "./invoice-request.ts";
import { invoiceXml } from "./invoice-xml.ts";
import { Random } from "./random.ts";
import {
  fetchValidators,
  type MustangVerdict,
  type Validators,
  validByVeraPdf,
  verdictsOfMustang,
} from "./validators.ts";

const PROFILES: readonly ProfileName[] = ["MINIMUM", "BASIC WL", "BASIC", "EN 16931", "EXTENDED", "XRECHNUNG"];
/** Mustang also reports these for other profiles, because most invoices in Germany follow them. */
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

describe("a damaged invoice", () => {
  const everySixth = SEEDS.filter((seed) => seed % 6 === 0);

  it.each(PROFILES)("is refused if a total is a cent too high: %s", async (profile) => {
    for (const seed of everySixth) {
      const invoice = generatedInvoice(profile, seed);
      const pdf = await rendered(profile, seed, invoiceXml({ ...invoice, gross: invoice.gross + 1n }));
      const finished = await finishEInvoice(pdf, { format: formatOf(profile), profile });
      const rules = finished.ok ? [] : finished.findings.map(({ rule }) => rule);
      expect(rules.filter((rule) => /^BR-(FXEXT-)?CO-1[56]$/.test(rule))).not.toEqual([]);
    }
  });

  it.each(PROFILES)("is refused if no attachment has the right name: %s", async (profile) => {
    for (const name of ["invoice.xml", "zugferd-invoice.xml", "ZUGFeRD-invoice.xml", "Factur-X.xml"]) {
      const xml = invoiceXml(generatedInvoice(profile, 1));
      const finished = await finishEInvoice(await rendered(profile, 1, xml, { name }), { format: formatOf(profile) });
      expect(finished).toMatchObject({ ok: false, findings: [{ rule: "attachment-name" }] });
    }
  });

  it.each(PROFILES)("is refused if the XML has a profile other than the wanted one: %s", async (profile) => {
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

describe("a rule", () => {
  /** 25 invoices of each profile, each with one change. */
  const DAMAGED_PER_PROFILE = 25;

  it("is reported exactly where Mustang reports it, in invoices that are damaged in many ways", async () => {
    const damagedFolder = join(folder, "damaged");
    await mkdir(damagedFolder);
    const ours = new Map<string, string[]>();
    for (const profile of PROFILES) {
      for (let seed = 0; seed < DAMAGED_PER_PROFILE; seed++) {
        const xml = damaged(invoiceXml(generatedInvoice(profile, seed)), seed);
        const read = readInvoice(Buffer.from(xml), formatOf(profile), null);
        // Without its guideline, an invoice has no profile, and no rules are checked.
        if (!read.ok) continue;
        const findings = await invoiceFindings(read.value);
        const name = `${profile.replace(" ", "-")}-${seed}.xml`;
        await writeFile(join(damagedFolder, name), xml);
        ours.set(name, [...new Set(findings.map(({ rule }) => rule))].toSorted());
      }
    }
    const theirs = await verdictsOfMustang(validators, damagedFolder);
    expect(theirs.size).toBe(ours.size);
    for (const [name, rules] of ours) {
      const { xml, rules: all = [] } = theirs.get(name) ?? {};
      // If the XML breaks the schema, we report only that; Mustang goes on to the rules.
      if (rules.includes("schema")) expect([name, xml]).toEqual([name, "invalid"]);
      else {
        const known = all.filter((rule) => name.startsWith("XRECHNUNG") || !OF_XRECHNUNG.test(rule));
        // The one rule that we have added to MINIMUM.
        const published = rules.filter((rule) => !(name.startsWith("MINIMUM") && rule === "BR-CO-15"));
        expect([name, published]).toEqual([name, [...new Set(known)].toSorted()]);
      }
    }
  });
});

/** The changes, used in turn: amounts twice, a missing member, a code, an attribute. */
const DAMAGES: readonly {
  readonly place: RegExp;
  readonly change: (random: Random, found: RegExpExecArray) => string;
}[] = [
  { place: /(<ram:\w*(?:Amount|Percent|Quantity)[^>]*>)(-?[\d.]+)/g, change: changedAmount },
  { place: /(<ram:\w*(?:Amount|Percent|Quantity)[^>]*>)(-?[\d.]+)/g, change: changedAmount },
  { place: /<(ram:\w+)[^>]*>[^<]*<\/\1>/g, change: () => "" },
  {
    place: /(<ram:(?:CategoryCode|TypeCode|InvoiceCurrencyCode|CountryID|ExemptionReasonCode)>)[^<]*/g,
    change: (random, [, start]) => `${start}${random.pick(["S", "XX", "AE", "E", "K", "999"])}`,
  },
  { place: /(schemeID|unitCode|currencyID|format)="[^"]*"/g, change: (_, [, name]) => `${name}="QQ"` },
];

function changedAmount(random: Random, [, start, amount]: RegExpExecArray): string {
  return `${start}${(Number(amount) + random.pick([0.01, 1, 100])).toFixed(2)}`;
}

function damaged(xml: string, seed: number): string {
  const random = new Random(seed * 31 + xml.length);
  const { place, change } = DAMAGES[seed % DAMAGES.length] ?? { place: /$/g, change: () => "" };
  const found = random.pick([...xml.matchAll(place)]);
  return xml.slice(0, found.index) + change(random, found) + xml.slice(found.index + found[0].length);
}
