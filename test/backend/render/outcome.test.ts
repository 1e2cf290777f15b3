/** What each end of a Typst process is, as far as only the backend knows. `over-http/failed-renders.test.ts` makes these ends really happen. */
import { expect, it } from "vitest";
import type { StopReason, TypstEnd, TypstReport } from "../../../backend/compiler/process.ts";
import { CLIENT_GONE, endOfRender } from "../../../backend/render/outcome.ts";
import { TimeLimit } from "../../../backend/render/render-time.ts";
import { readBackendSettings } from "../../../backend/settings.ts";

const LIMIT = 5000;
const SETTINGS = readBackendSettings({
  SERVICE_MAX_OUTPUT_BYTES: String(LIMIT),
  SERVICE_MAX_OUTPUT_FILES: "7",
  SERVICE_RENDER_TIMEOUT_SECONDS: "31",
  SERVICE_RENDER_CPU_SECONDS: "11",
  SERVICE_RENDER_MEMORY_BYTES: "200000000",
});

const MEASURED = { outputBytes: 100, ranOutOfMemory: false, peakMemoryBytes: null } as const;

const time = new TimeLimit(SETTINGS, new AbortController().signal);

const failure = (end: TypstEnd, measured: Partial<TypstReport> = {}) =>
  endOfRender({ end, ...MEASURED, ...measured }, SETTINGS, time);

/** A refusal with a code, a context, and words in its detail. */
const refusal = (code: string, context: object, words = /./) => ({
  kind: "refused",
  problem: expect.objectContaining({ code, context, detail: expect.stringMatching(words) }),
});
const OUT_OF_MEMORY = refusal("template_compile_failed", {}, /memory.* 190\.7 MiB: /);
const RENDER_FAILED = refusal("render_failed", {});
const NO_ROOM = refusal("render_queue_full", { retry_after: 5 }, /temporary space.*5 seconds/);
const TOO_MANY_FILES = refusal("too_many_output_files", { limit: 7 }, / 7 /);
const tooLarge = (size: number) =>
  refusal("output_too_large", { size, limit: LIMIT }, new RegExp(`${size} bytes.* ${LIMIT} `));
const timeout = (words: RegExp) => refusal("render_timeout", { timeout_secs: 31 }, words);

it.each([
  ["wall_clock", / 31 seconds/],
  ["processor_time", /11 seconds of processor time/],
  ["writing_files", / 15 seconds/],
] as const)("a timeout of %s says which limit it was, and its number", (cause, words) => {
  expect(time.failure(cause)).toEqual(timeout(words));
});

const exited = (exitCode: number): TypstEnd => ({ kind: "exited", exitCode });
const stopped = (reason: StopReason): TypstEnd => ({ kind: "stopped", reason });
const killed = (signal: string): TypstEnd => ({ kind: "signalled", signal });
const NO_MEMORY = { ranOutOfMemory: true };

it.each<[string, TypstEnd, Partial<TypstReport>, object]>([
  ["exits", exited(1), {}, exited(1)],
  ["is stopped at the timeout", stopped("over"), {}, timeout(/ 31 seconds/)],
  ["is stopped for its processor time", stopped("processor-time"), {}, timeout(/11 seconds of processor time/)],
  ["is stopped for its size", stopped("too-large"), { outputBytes: 9000 }, tooLarge(9000)],
  ["is stopped for its size, of which less is known", stopped("too-large"), {}, tooLarge(LIMIT + 1)],
  ["is stopped for its files", stopped("too-many-files"), {}, TOO_MANY_FILES],
  ["is stopped for want of room", stopped("no-room"), {}, NO_ROOM],
  ["is killed by SIGSEGV", killed("SIGSEGV"), {}, RENDER_FAILED],
  ["is killed by SIGABRT", killed("SIGABRT"), {}, RENDER_FAILED],
  ["is killed by SIGKILL", killed("SIGKILL"), {}, RENDER_FAILED],
  ["is killed by SIGSYS", killed("SIGSYS"), {}, RENDER_FAILED],
  ["is killed by SIGABRT without memory", killed("SIGABRT"), NO_MEMORY, OUT_OF_MEMORY],
  ["is killed by SIGSEGV without memory", killed("SIGSEGV"), NO_MEMORY, OUT_OF_MEMORY],
  ["is killed by SIGSYS without memory", killed("SIGSYS"), NO_MEMORY, OUT_OF_MEMORY],
])("a process that %s", (_how, end, measured, expected) => {
  expect(failure(end, measured)).toEqual(expected);
});

it("a process that is stopped for its client has no answer", () => {
  const report = { end: stopped("over"), ...MEASURED };
  expect(endOfRender(report, SETTINGS, new TimeLimit(SETTINGS, AbortSignal.abort()))).toBe(CLIENT_GONE);
});

it("a process that was discarded was not one that a request needs", () => {
  expect(() => failure(stopped("not-needed"))).toThrow("discarded");
});

it.each(["not-begun", "output-lost"] as const)("a broken machine has no outcome: %s", (kind) => {
  const error = new Error("the machine");
  expect(() => failure({ kind, error })).toThrow(error);
});
