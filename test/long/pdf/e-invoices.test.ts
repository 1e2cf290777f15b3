/** E-invoices of every profile and kind of PDF/A-3, rendered, finished, and judged by the validators of receivers. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finishEInvoice, type ProfileName } from "../../../clients/e-invoice/e-invoice.ts";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { startTestService, type TestService } from "../../support/service/test-service.ts";
import { GROSS, invoiceXml, PROFILE_NAMES } from "./invoice-xml.ts";
import {
  fetchFrenchRules,
  fetchValidators,
  type MustangVerdict,
  rulesBroken,
  type Validators,
  verdictsOfMustang,
  verdictsOfVeraPdf,
} from "./validators.ts";

/** Mustang also reports these for other profiles, because most invoices in Germany follow them. */
const OF_XRECHNUNG = /^(BR-DE-|PEPPOL-)/;
const EXAMPLE = "example.pdf";
/** All kinds of files that can be finished, with the name that veraPDF has for them. */
const STANDARDS: Readonly<Record<string, readonly string[]>> = {
  "3b": ["a-3b"],
  "3u": ["a-3u"],
  "3a": ["a-3a"],
  "3a ua1": ["a-3a", "ua-1"],
};
const TEMPLATE = `
#set document(title: "Invoice", author: "Öztürk & Söhne", date: datetime(year: 2026, month: 10, day: 5))
#set text(lang: "de")
#pdf.attach(data.name, read("invoice.xml", encoding: none), relationship: data.relationship, mime-type: "text/xml",
  description: "The invoice as XML")
#if data.annex { pdf.attach("annex.csv", bytes("a;b"), relationship: "supplement", mime-type: "text/csv", description: "Annex") }
#title()
#table(columns: (1fr, auto), table.header[Item][Net], [Wartung], [100,00])
`;

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

async function rendered(profile: ProfileName, standards: readonly string[]): Promise<Uint8Array> {
  const answer = await service.render({
    source: TEMPLATE,
    files: { "invoice.xml": { encoding: "text", content: invoiceXml(profile) } },
    data: {
      name: profile === "XRECHNUNG" ? "xrechnung.xml" : "factur-x.xml",
      relationship: profile === "MINIMUM" || profile === "BASIC WL" ? "data" : "alternative",
      annex: standards.includes("a-3u"),
    },
    output: { standards },
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.bytes();
}

describe("an invoice of each profile in each standard, rendered by the service and finished", () => {
  const files: { profile: ProfileName; path: string; name: string; standard: string }[] = [];
  let byVeraPdf: Map<string, string>;
  let byMustang: Map<string, MustangVerdict>;
  beforeAll(async () => {
    const finishedFolder = join(folder, "finished");
    await mkdir(finishedFolder);
    for (const profile of PROFILE_NAMES) {
      for (const [standard, standards] of Object.entries(STANDARDS)) {
        const pdf = await rendered(profile, standards);
        const format = profile === "XRECHNUNG" ? "xrechnung" : "factur-x";
        const finished = await finishEInvoice(pdf, { format, profile });
        const name = `${profile}-${standard}.pdf`.replaceAll(" ", "-");
        if (!finished.ok) throw new Error(`${name}: ${JSON.stringify(finished.findings)}`);
        expect(Buffer.from(finished.pdf).indexOf(pdf), "the file as it was is the beginning").toBe(0);
        const path = join(finishedFolder, name);
        await writeFile(path, finished.pdf);
        files.push({ profile, path, name, standard });
      }
    }
    const answer = await service.render(await exampleRequest("e-invoice"));
    const example = await finishEInvoice(await answer.bytes(), { format: "factur-x", profile: "EN 16931" });
    await writeFile(join(finishedFolder, EXAMPLE), example.ok ? example.pdf : "");
    byVeraPdf = await verdictsOfVeraPdf(validators, [...files.map(({ path }) => path), join(finishedFolder, EXAMPLE)]);
    byMustang = await verdictsOfMustang(validators, finishedFolder);
  });

  it("is valid PDF/A-3, and PDF/UA-1 where it claims it, for veraPDF, and so is the example", () => {
    expect(files.map(({ path }) => byVeraPdf.get(path))).toEqual(files.map(({ standard }) => standard));
    expect(byVeraPdf.get(join(folder, "finished", EXAMPLE))).toBe("3b");
  });

  it("is valid for Mustang, both PDF and XML, without a complaint by any rule, and so is the example", () => {
    const verdicts = [...files, { profile: "EN 16931", name: EXAMPLE }].map(({ profile, name }) => {
      const { pdf, xml, rules = [] } = byMustang.get(name) ?? {};
      return [name, pdf, xml, ...rules.filter((rule) => profile === "XRECHNUNG" || !OF_XRECHNUNG.test(rule))];
    });
    expect(verdicts).toEqual(verdicts.map(([name]) => [name, "valid", "valid"]));
    expect(verdicts).toHaveLength(25);
  });
});

it("Mustang ends well on a PDF that it finds invalid if the XML is valid, so its report must be read", async () => {
  const path = join(folder, "unfinished.pdf");
  await writeFile(path, await rendered("EN 16931", ["a-3b"]));
  const options = ["--action", "validate", "--source", path, "--disable-file-logging"];
  const { exitCode, stdout } = await execa("java", ["-jar", validators.mustang, ...options], {
    cwd: folder,
    stdin: "ignore",
  });
  const summaries = [...stdout.matchAll(/<summary status="(\w+)"/g)].map(([, status]) => status);
  expect([exitCode, ...summaries]).toEqual([0, "invalid", "valid", "valid"]);
});

it("an XRechnung follows the rules of CEN and of KoSIT, which find what a damaged one breaks", async () => {
  const invoices = join(folder, "xrechnung");
  await mkdir(invoices);
  const xml = invoiceXml("XRECHNUNG");
  const damaged = xml.replace(`<ram:GrandTotalAmount>${GROSS}`, "<ram:GrandTotalAmount>119.01");
  await writeFile(join(invoices, "right.xml"), xml);
  await writeFile(join(invoices, "damaged.xml"), damaged.replace(/<ram:BuyerReference>.*?<\/ram:BuyerReference>/, ""));
  const broken = await rulesBroken(validators, [validators.cenRules, validators.kositRules], invoices);
  expect(broken.get("damaged.xml")).toEqual(expect.arrayContaining(["BR-CO-15", "BR-DE-15"]));
  expect(broken.get("right.xml")).toEqual([]);
});

it("the example follows the rules of CEN in each of its cases, and those of France between firms in France", async () => {
  const cases = new URL("../../../examples/e-invoice/cases/", import.meta.url);
  const [all, french] = [join(folder, "all"), join(folder, "french")];
  for (const path of [all, french]) await mkdir(path);
  const request: object = JSON.parse(await exampleRequest("e-invoice"));
  for (const file of (await readdir(cases)).filter((name) => name.endsWith(".json"))) {
    const data: unknown = JSON.parse(await readFile(new URL(file, cases), "utf8"));
    const answer = await service.render({ ...request, data });
    const [attachment] = (await readPdf(await answer.bytes())).attachments;
    const name = file.replace(".json", ".xml");
    await writeFile(join(all, name), attachment?.content ?? "");
    if (["french.json", "negative-line.json"].includes(file))
      await writeFile(join(french, name), attachment?.content ?? "");
  }
  const byCen = await rulesBroken(validators, [validators.cenRules], all);
  expect(byCen).toEqual(new Map(["french", "negative-line", "without-vat"].map((name) => [`${name}.xml`, []])));
  const byFnfe = await rulesBroken(validators, [await fetchFrenchRules(folder)], french);
  expect(byFnfe.get("french.xml")).toEqual([]);
  expect(byFnfe.get("negative-line.xml")).toEqual(expect.arrayContaining(["BR-FR-05_BT-22_PMT", "BR-FR-10_BT-30"]));
});
