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
const INVOICES_PER_PROFILE = 4;
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
    for (const { name } of expected)
      expect([name, byMustang.get(name)]).toEqual([name, { pdf: "valid", xml: "valid", rules: [] }]);
  });
});
