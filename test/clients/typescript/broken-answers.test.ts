/** Files and documents of the service that break off at a byte: the clients for TypeScript and Python take none for whole. */
import { describe, expect, it } from "vitest";
import type { FileExtension } from "../../../protocol/file-types.ts";
import { isWholeFile } from "../../../protocol/whole-file.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { bothClients } from "../../support/clients/both-clients.ts";
import {
  breakOff,
  FRAMINGS,
  type Framing,
  placesToBreak,
  type SentBody,
  sentBody,
  sentFile,
} from "../../support/clients/broken-answers.ts";
import { type Behaviour, startScriptedService } from "../../support/clients/scripted-service.ts";
import { sharedService } from "../../support/service/test-service.ts";

const OUTPUTS: Readonly<Record<FileExtension, object>> = {
  pdf: { format: "pdf", standards: ["a-2b"] },
  png: { format: "png", ppi: 20 },
  svg: { format: "svg" },
  zip: { format: "png", ppi: 20, archive: "zip" },
};
const EXTENSIONS: readonly FileExtension[] = ["pdf", "png", "svg", "zip"];
const SOURCE = '#set document(title: "%%EOF </svg> IEND")\nOne %%EOF';

const service = await sharedService();
const files = new Map<FileExtension, Uint8Array>();

async function render(extension: FileExtension): Promise<Uint8Array> {
  const kept = files.get(extension);
  if (kept !== undefined) return kept;
  const answer = await service.render({ source: SOURCE, output: OUTPUTS[extension] });
  const bytes = await answer.bytes();
  files.set(extension, bytes);
  return bytes;
}

const BODIES = EXTENSIONS.flatMap((extension) =>
  [false, true].map((isCompressed) => [extension, isCompressed] as const),
);

it.each(EXTENSIONS)("a file is whole with its last byte, and not before: %s", async (extension) => {
  const bytes = await render(extension);
  const whole = Array.from({ length: bytes.length + 1 }, (_, length) => length).filter((length) =>
    isWholeFile(extension, bytes.subarray(0, length)),
  );
  expect(whole).toEqual([bytes.length]);
});

it("a file is whole if its only page is blank: an SVG is then one empty element", async () => {
  const source = "#set page(width: 9pt, height: 9pt, fill: none)\n#metadata(1)";
  const bytes = await (await service.render({ source, output: { format: "svg" } })).bytes();
  expect(isWholeFile("svg", bytes)).toBe(true);
  expect(isWholeFile("svg", bytes.subarray(0, -1))).toBe(false);
});

describe.each(bothClients())("the client for %s", (_language, send) => {
  const call = async (method: "render" | "constraints", url: string) =>
    (await send(method, { url, maxAttempts: 1, checkBeforeSending: false })).result;
  /** What a call returns where it should say that the connection broke. */
  const failures = async (
    method: "render" | "constraints",
    body: SentBody,
    framings: readonly Framing[] = FRAMINGS,
  ) => {
    let behaviour: Behaviour = () => {};
    const { url } = await startScriptedService((response) => behaviour(response), null);
    const found: unknown[] = [];
    for (const framing of framings) {
      for (const at of placesToBreak(body)) {
        behaviour = breakOff(body, at, framing);
        const { reason } = await call(method, url);
        if (reason !== "connection_broken") found.push(`${at} bytes, then ${framing}: ${reason}`);
      }
    }
    return found;
  };

  it.each([false, true])("says that the connection broke, however it ends, compressed: %s", async (isCompressed) => {
    expect(await failures("render", sentFile(await render("pdf"), "pdf", isCompressed))).toEqual([]);
  });

  it.each(EXTENSIONS)("says so of half a file that a proxy has sent as a whole one: %s", async (extension) => {
    expect(await failures("render", sentFile(await render(extension), extension, false), ["a new length"])).toEqual([]);
  });

  it.each([false, true])("says the same of half the constraints, compressed: %s", async (isCompressed) => {
    const text = JSON.stringify(constraintsDocument(DEFAULT_LIMITS));
    expect(await failures("constraints", sentBody(Buffer.from(text), "application/json", isCompressed))).toEqual([]);
  });

  it.each(BODIES)("takes the file as soon as it is whole: %s, compressed: %s", async (extension, isCompressed) => {
    const body = sentFile(await render(extension), extension, isCompressed);
    for (const framing of ["the end of the connection", "a new length", "new chunks"] as const) {
      const { url } = await startScriptedService(breakOff(body, body.bytes.length, framing), null);
      expect(await call("render", url)).toMatchObject({ ok: true });
    }
  });
});
