/** The failure for each end of a Typst process. `over-http/failed-renders.test.ts` makes these ends really happen. */
import { describe, expect, it } from "vitest";
import {
  CLIENT_GONE,
  failureOfTypst,
  noPageWritten,
  SELECTION_EMPTY,
  timedOut,
} from "../../../backend/render/outcome.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import type { StopReason, TypstEnd, TypstReport } from "../../../backend/typst/process.ts";
import type { Output } from "../../../rules/output-options.ts";

const LIMIT = 5000;
const SETTINGS = readBackendSettings({
  SERVICE_MAX_OUTPUT_BYTES: String(LIMIT),
  SERVICE_MAX_OUTPUT_FILES: "7",
  SERVICE_RENDER_TIMEOUT_SECONDS: "31",
  SERVICE_RENDER_CPU_SECONDS: "11",
  SERVICE_RENDER_MEMORY_BYTES: "200000000",
});

const SUCCESS: TypstEnd = { kind: "exited", exitCode: 0 };
const MEASURED = { outputTaken: "kept", outputBytes: 100, ranOutOfMemory: false, peakMemoryBytes: null } as const;

const failure = (end: TypstEnd, measured: Partial<TypstReport> = {}) =>
  failureOfTypst({ end, ...MEASURED, ...measured }, SETTINGS, SETTINGS.renderTimeoutSeconds);

/** A refusal with a code, a context, and words in its detail. */
const refusal = (code: string, context: object, words = /./) => ({
  kind: "refused",
  problem: expect.objectContaining({ code, context, detail: expect.stringMatching(words) }),
});
const COMPILE_FAILED = refusal("template_compile_failed", {}, /^Typst could not produce/);
const OUT_OF_MEMORY = refusal("template_compile_failed", {}, /memory.* 200000000 bytes/);
const RENDER_FAILED = refusal("render_failed", {});
const NO_ROOM = refusal("render_queue_full", { retry_after: 5 }, /temporary space.*5 seconds/);
const TOO_MANY_FILES = refusal("too_many_output_files", { limit: 7 }, / 7 /);
const tooLarge = (size: number) =>
  refusal("output_too_large", { size, limit: LIMIT }, new RegExp(`${size} bytes.* ${LIMIT} `));
const timeout = (words: RegExp) => refusal("render_timeout", { timeout_secs: 31 }, words);

it.each([
  ["wall_clock", / 31 seconds/],
  ["processor_time", /11 seconds of processor time/],
  ["writing_files", / 5 seconds/],
] as const)("a timeout of %s says which limit it was, and its number", (cause, words) => {
  expect(timedOut(cause, SETTINGS, SETTINGS.renderTimeoutSeconds)).toEqual(timeout(words));
});

describe("a process that exits", () => {
  it("with 0 has succeeded, and with any other code the template has failed", () => {
    expect(failure(SUCCESS)).toBeNull();
    for (const exitCode of [1, 2, 101]) expect(failure({ kind: "exited", exitCode })).toEqual(COMPILE_FAILED);
  });

  it("with 0 has succeeded up to the last byte of the limit, and not with one more", () => {
    expect(failure(SUCCESS, { outputBytes: LIMIT })).toBeNull();
    expect(failure(SUCCESS, { outputBytes: LIMIT + 1 })).toEqual(tooLarge(LIMIT + 1));
  });

  it("with 0 has not succeeded if its output was not read to the end", () => {
    expect(failure(SUCCESS, { outputTaken: "too-large", outputBytes: LIMIT })).toEqual(tooLarge(LIMIT + 1));
    expect(failure(SUCCESS, { outputTaken: "no-room" })).toEqual(NO_ROOM);
  });
});

describe("a process that is stopped", () => {
  it.each<[StopReason, number, object]>([
    ["client-gone", 100, CLIENT_GONE],
    ["render-timeout", 100, timeout(/ 31 seconds/)],
    ["output-too-large", 9000, tooLarge(9000)],
    ["output-too-large", 100, tooLarge(LIMIT + 1)],
    ["too-many-files", 100, TOO_MANY_FILES],
    ["no-room", 100, NO_ROOM],
  ])("has the failure of its reason: %s", (reason, outputBytes, expected) => {
    expect(failure({ kind: "stopped", reason }, { outputBytes })).toEqual(expected);
  });

  it("was not one that a request needs", () => {
    expect(() => failure({ kind: "stopped", reason: "not-needed" })).toThrow("discarded");
  });
});

describe("a process that is killed by a signal", () => {
  it("has met its own limit or is a failure of the service", () => {
    expect(failure({ kind: "signalled", signal: "SIGXCPU" })).toEqual(timeout(/11 seconds/));
    expect(failure({ kind: "signalled", signal: "SIGXFSZ" })).toEqual(tooLarge(LIMIT + 1));
    for (const signal of ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGSYS"]) {
      expect(failure({ kind: "signalled", signal })).toEqual(RENDER_FAILED);
    }
  });

  it("after it ran out of memory is a failure of the template, whatever the signal", () => {
    for (const signal of ["SIGABRT", "SIGSEGV", "SIGXCPU", "SIGSYS"]) {
      expect(failure({ kind: "signalled", signal }, { ranOutOfMemory: true })).toEqual(OUT_OF_MEMORY);
    }
  });
});

it.each(["not-started", "output-lost"] as const)("a broken machine has no outcome: %s", (kind) => {
  const cause = new Error("the machine");
  expect(() => failure({ kind, cause })).toThrow(cause);
});

describe("a success without a page", () => {
  const image: Output = { format: "svg", filename: null, page: null, pages: null, archive: null };
  const pdf: Output = { format: "pdf", filename: null, version: null, standards: [], pages: "2" };

  it("is the template's failure where the request chose pages of images", () => {
    expect(noPageWritten({ ...image, page: 9 })).toEqual(refusal("template_compile_failed", {}, /no page 9/));
    expect(noPageWritten({ ...image, archive: "zip", pages: "9" })).toBe(SELECTION_EMPTY);
  });

  it("is the service's failure where it did not, and for a PDF", () => {
    for (const wanted of [image, { ...image, archive: "zip" } as const, pdf, { ...pdf, pages: null }]) {
      expect(noPageWritten(wanted)).toEqual(RENDER_FAILED);
    }
  });
});
