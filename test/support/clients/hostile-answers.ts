/**
 * Answers to a render that no service gives: endless, empty, of wrong types, packed to explode. Every client makes the
 * same of each: an error of its documented type, without a retry, after a bounded number of bytes.
 */
import { gzipSync } from "node:zlib";
import { strToU8, zipSync } from "fflate";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { type Problem, problem, problemDocument } from "../../../rules/problem.ts";
import { answer, type Behaviour, endlessAnswer, INSTANCE, PDF, PROBLEM } from "./scripted-service.ts";

/** A deployment with a low limit on outputs, so that answers over it need not be large. */
export const LOW_LIMITS = { ...DEFAULT_LIMITS, max_output_bytes: 64 * 1024 };

/**
 * What a server may have sent before a client hangs up: the limit, and what the buffers of both ends of a connection
 * take.
 */
export const MAX_SENT_BYTES = 16 * 1024 * 1024;

const PNG = { "Content-Type": "image/png" };
const SVG = { "Content-Type": "image/svg+xml" };
const ZIP = { "Content-Type": "application/zip" };
const GZIP = { "Content-Encoding": "gzip" };

/** A problem with members of its document replaced. */
function malformed(base: Problem, members: object): Behaviour {
  return answer(429, PROBLEM, JSON.stringify({ ...problemDocument(base, INSTANCE), ...members }));
}

const FORBIDDEN = problem("forbidden", "No.", {});
const FULL = problem("render_queue_full", "Full.", { retry_after: 1 });

/** Answers that are not of this service, whatever they say. */
export const HOSTILE_ANSWERS: readonly (readonly [what: string, behaviour: Behaviour])[] = [
  ["a script for a shell as a PDF", answer(200, PDF, "#!/bin/sh\nrm -rf ~\n")],
  ["a page of the web as SVG", answer(200, SVG, "<!doctype html><script>alert(1)</script>")],
  ["a text as PNG", answer(200, PNG, "PNG")],
  ["a text as ZIP", answer(200, ZIP, "PK, or so")],
  ["half a problem of more than it may have", endlessAnswer(502, PROBLEM, '{"title":"')],
  ["a PDF as a program", answer(200, { "Content-Type": "application/octet-stream" }, "%PDF-1.7")],
  ["a PDF without a type", answer(200, {}, "%PDF-1.7")],
  ["a PDF without end", endlessAnswer(200, PDF, "%PDF-1.7")],
  ["an SVG without end", endlessAnswer(200, SVG, "<svg ")],
  ["a ZIP without end", endlessAnswer(200, ZIP, "PK\u0003\u0004")],
  [
    "a PDF that announces more than it may have",
    (response) => {
      response.writeHead(200, { ...PDF, "Content-Length": String(LOW_LIMITS.max_output_bytes + 1) }).write("%PDF-1.7");
    },
  ],
  ["a PDF of one byte more than it may have", answer(200, PDF, `%PDF-${" ".repeat(LOW_LIMITS.max_output_bytes - 4)}`)],
  [
    "a PDF that is compressed to a thousandth",
    answer(200, { ...PDF, ...GZIP }, gzipSync(`%PDF-${" ".repeat(50_000_000)}`)),
  ],
  ["a redirect to no address", answer(302, { Location: "http://[" })],
  ["a problem without end", endlessAnswer(400, PROBLEM, '{"code":"')],
  [
    "a problem that is compressed to a thousandth",
    answer(400, { ...PROBLEM, ...GZIP }, gzipSync(" ".repeat(50_000_000))),
  ],
  ["a problem nested a hundred thousand times", answer(400, PROBLEM, "[".repeat(100_000) + "]".repeat(100_000))],
  ["a problem whose status is a text", malformed(FORBIDDEN, { status: "403" })],
  ["a problem whose code is a list", malformed(FORBIDDEN, { code: ["forbidden"] })],
  ["a problem whose detail is null", malformed(FORBIDDEN, { detail: null })],
  ["a problem whose instance is a number", malformed(FORBIDDEN, { instance: 7 })],
  ...[null, [], "none", 5, undefined].map(
    (context) => [`a problem whose context is ${context}`, malformed(FORBIDDEN, { context })] as const,
  ),
  ["a problem whose wait is in words", malformed(FULL, { context: { retry_after: "soon" } })],
];

export const answerRaw = (...lines: readonly string[]): Behaviour => {
  return (response) => void response.socket?.end(lines.join("\r\n"), "latin1");
};
const RAW_PDF = ["HTTP/1.1 200 OK", "Content-Type: application/pdf"];

/** Problems that break off, and answers that are not HTTP: as if there were none. Files break off in broken-answers.ts. */
export const BROKEN_ANSWERS: readonly (readonly [what: string, behaviour: Behaviour])[] = [
  ["no HTTP", answerRaw("220 mail.example ESMTP", "", "")],
  ["half a problem", answer(400, PROBLEM, '{"code":"forbidden","detail":"The to')],
  ["a problem without a byte", answer(400, PROBLEM)],
  ["a chunk of a negative size", answerRaw(...RAW_PDF, "Transfer-Encoding: chunked", "", "-5", "%PDF-1.7")],
  ["a chunk whose size is no number", answerRaw(...RAW_PDF, "Transfer-Encoding: chunked", "", "many", "%PDF-1.7")],
];

/** What is in `context.retry_after`, and how long a client waits. */
export const HOSTILE_DELAYS: readonly (readonly [asked: number, seconds: number])[] = [
  [-5, 0],
  [2_000_000, 300],
  [1e12, 300],
];

/** A ZIP that inflates to a size, with sizes in its headers that say otherwise. */
export function lyingZip(unpackedBytes: number, claimedBytes: number): Uint8Array {
  const archive = zipSync({ "page-01.png": new Uint8Array(unpackedBytes) }, { level: 9 });
  const view = new DataView(archive.buffer);
  for (let at = 0; at < archive.length - 4; at++) {
    if (view.getUint32(at, true) === unpackedBytes) view.setUint32(at, claimedBytes, true);
  }
  return archive;
}

/** A ZIP whose only entry is not compressed as it says. */
export function brokenZip(): Uint8Array {
  const archive = lyingZip(1000, 1000);
  // Behind the header and the name. A block that begins so is of no type.
  archive.fill(0xff, 30 + "page-01.png".length, 32 + "page-01.png".length);
  return archive;
}

/** A ZIP of this many empty entries, of local headers alone, and of the record that ends it. */
export function crowdedZip(count: number): Uint8Array {
  const [entry] = [zipSync({ "page-01.png": strToU8("") }, { level: 0 })];
  const header = entry.subarray(0, entry.indexOf(0x50, 4));
  const end = entry.slice(-22);
  new DataView(end.buffer).setUint32(12, 0, true);
  new DataView(end.buffer).setUint32(16, header.length * count, true);
  const archive = new Uint8Array(header.length * count + end.length);
  for (let index = 0; index < count; index++) archive.set(header, index * header.length);
  archive.set(end, header.length * count);
  return archive;
}
