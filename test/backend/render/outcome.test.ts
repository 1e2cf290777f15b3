/** The outcome for each end of a Typst process. `over-http/failed-renders.test.ts` makes these ends really happen. */
import { describe, expect, it } from "vitest";
import {
  CLIENT_GONE,
  type CompileFailure,
  compileFailed,
  noPageWritten,
  noTemporarySpace,
  notRendered,
  outcomeOfEnd,
  renderFailed,
  timedOut,
  tooManyOutputFiles,
} from "../../../backend/render/outcome.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import type { TypstEnd, TypstResult } from "../../../backend/typst/process.ts";
import type { Output } from "../../../rules/output-options.ts";
import { outputTooLarge } from "../../../rules/problem.ts";

const LIMIT = 5000;
const SETTINGS = readBackendSettings({
  SERVICE_MAX_OUTPUT_BYTES: String(LIMIT),
  SERVICE_MAX_OUTPUT_FILES: "7",
  SERVICE_RENDER_TIMEOUT_SECONDS: "31",
  SERVICE_RENDER_CPU_SECONDS: "11",
  SERVICE_RENDER_MEMORY_BYTES: "200000000",
});

const SUCCESS: TypstEnd = { kind: "exited", exitCode: 0 };

const resultOf = (end: TypstEnd, result: Partial<TypstResult> = {}): TypstResult => ({
  end,
  outputTaken: "kept",
  outputBytes: 100,
  ranOutOfMemory: false,
  peakMemoryBytes: null,
  ...result,
});

const outcome = (end: TypstEnd, result: Partial<TypstResult> = {}) =>
  outcomeOfEnd(resultOf(end, result), SETTINGS, SETTINGS.renderTimeoutSeconds);

const refused = { code: "template_compile_failed", context: {} };
const tooLarge = (size: number) => ({ code: "output_too_large", context: { size, limit: LIMIT } });

describe("a timeout", () => {
  it.each([
    ["wall_clock", "31 seconds"],
    ["processor_time", "11 seconds of processor time"],
    ["writing_files", "5 seconds"],
  ] as const)("of %s says which limit it was, and its number", (cause, words) => {
    const timeout = timedOut(cause, SETTINGS, SETTINGS.renderTimeoutSeconds);
    expect(timeout).toMatchObject({ code: "render_timeout", context: { timeout_secs: 31 }, cause });
    expect(timeout.detail).toContain(words);
  });
});

describe("a process that exits", () => {
  it("with 0 has succeeded, and with any other code the template has failed", () => {
    expect(outcome(SUCCESS)).toBeNull();
    const failed = compileFailed({ kind: "refused-by-typst" });
    for (const exitCode of [1, 2, 101]) expect(outcome({ kind: "exited", exitCode })).toEqual(failed);
  });

  it("with 0 has succeeded up to the last byte of the limit, and not with one more", () => {
    expect(outcome(SUCCESS, { outputBytes: LIMIT })).toBeNull();
    expect(outcome(SUCCESS, { outputBytes: LIMIT + 1 })).toMatchObject(tooLarge(LIMIT + 1));
  });

  it("with 0 has not succeeded if its output was not read to the end", () => {
    expect(outcome(SUCCESS, { outputTaken: "too-large" })).toMatchObject(tooLarge(LIMIT + 1));
    expect(outcome(SUCCESS, { outputTaken: "no-room" })).toMatchObject({ code: "render_queue_full" });
  });
});

describe("a process that is stopped", () => {
  const stopped = (reason: Extract<TypstEnd, { kind: "stopped" }>["reason"]): TypstEnd => ({ kind: "stopped", reason });

  it("has the outcome of the reason", () => {
    expect(outcome(stopped("client-gone"))).toBe(CLIENT_GONE);
    expect(outcome(stopped("render-timeout"))).toMatchObject({ code: "render_timeout", context: { timeout_secs: 31 } });
    expect(outcome(stopped("output-too-large"), { outputBytes: 9000 })).toMatchObject(tooLarge(9000));
    expect(outcome(stopped("output-too-large"))).toMatchObject(tooLarge(LIMIT + 1));
    expect(outcome(stopped("too-many-files"))).toEqual(tooManyOutputFiles(SETTINGS));
    expect(outcome(stopped("no-room"))).toMatchObject({ code: "render_queue_full" });
    expect(() => outcome(stopped("not-needed"))).toThrow("discarded");
  });
});

describe("a process that is killed by a signal", () => {
  const signalled = (signal: string): TypstEnd => ({ kind: "signalled", signal });

  it("has met its own limit or is a failure of the service", () => {
    const timeout = {
      code: "render_timeout",
      context: { timeout_secs: 31 },
      detail: expect.stringContaining("11 seconds"),
    };
    expect(outcome(signalled("SIGXCPU"))).toMatchObject(timeout);
    expect(outcome(signalled("SIGXFSZ"))).toMatchObject(tooLarge(LIMIT + 1));
    for (const signal of ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGSYS"]) {
      expect(outcome(signalled(signal))).toMatchObject({ code: "render_failed", context: {} });
    }
  });

  it("after it ran out of memory is a failure of the template, whatever the signal", () => {
    const outOfMemory = { ...refused, detail: expect.stringContaining("200000000 bytes") };
    for (const signal of ["SIGABRT", "SIGSEGV", "SIGXCPU", "SIGSYS"]) {
      expect(outcome(signalled(signal), { ranOutOfMemory: true })).toMatchObject(outOfMemory);
    }
  });
});

it.each(["not-started", "output-lost"] as const)("a broken machine has no outcome: %s", (kind) => {
  const cause = new Error("the machine");
  expect(() => outcome({ kind, cause })).toThrow(cause);
});

it("a render without an output is refused with its problem, unless its client has left", () => {
  expect(notRendered(renderFailed())).toEqual({ kind: "refused", problem: renderFailed() });
  expect(notRendered(CLIENT_GONE)).toEqual({ kind: CLIENT_GONE });
});

describe("a success without a page", () => {
  const image: Output = { format: "svg", filename: null, page: null, pages: null, archive: null };
  const pdf: Output = { format: "pdf", filename: null, version: null, standards: [], pages: "2" };

  it("is the template's failure where the request chose pages of images", () => {
    expect(noPageWritten({ ...image, page: 9 })).toEqual(compileFailed({ kind: "page-missing", page: 9 }));
    expect(noPageWritten({ ...image, archive: "zip", pages: "9" })).toEqual(compileFailed({ kind: "selection-empty" }));
  });

  it("is the service's failure where it did not, and for a PDF", () => {
    for (const wanted of [image, { ...image, archive: "zip" } as const, pdf, { ...pdf, pages: null }]) {
      expect(noPageWritten(wanted)).toEqual(renderFailed());
    }
  });
});

describe("a problem", () => {
  it.each([
    [{ kind: "refused-by-typst" }, /^Typst could not produce/],
    [{ kind: "out-of-memory", limitBytes: 123 }, /memory.* 123 bytes/],
    [{ kind: "several-pages" }, /several pages.*"page".*"archive"/],
    [{ kind: "page-missing", page: 9 }, /no page 9/],
    [{ kind: "selection-empty" }, /none of the pages.*"pages"/],
  ] as [CompileFailure, RegExp][])("of a template says what the service knows about it: %j", (failure, detail) => {
    expect(compileFailed(failure)).toEqual({ ...refused, detail: expect.stringMatching(detail) });
  });

  it("has its numbers in its context and in its detail", () => {
    expect(outputTooLarge(LIMIT + 5, LIMIT)).toEqual({
      ...tooLarge(LIMIT + 5),
      detail: expect.stringMatching(/5005 bytes.* 5000 /),
    });
    expect(tooManyOutputFiles(SETTINGS)).toEqual({
      code: "too_many_output_files",
      context: { limit: 7 },
      detail: expect.stringContaining(" 7 "),
    });
    const { context, detail } = noTemporarySpace();
    expect([context, detail]).toEqual([{ retry_after: 5 }, expect.stringMatching(/temporary space.*5 seconds/)]);
    expect(renderFailed()).toMatchObject({ code: "render_failed", context: {} });
  });
});
