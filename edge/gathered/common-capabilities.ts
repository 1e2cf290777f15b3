/**
 * The capabilities that all backends have in common. One that does not answer is represented by its last document for
 * up to an hour; one that is no longer listed, not at all. If they differ, a log line names what some of them lack.
 */
import {
  CAPABILITIES_PATH,
  type Capabilities,
  capabilityDifferences,
  commonCapabilities,
  MAX_CAPABILITIES_BYTES,
  parseCapabilities,
} from "../../protocol/capabilities.ts";
import { MONOTONIC_CLOCK } from "../clock.ts";
import type { Backend } from "../platform/platform.ts";
import { SharedAnswer } from "./shared-answer.ts";
import { SURVEY_TIMEOUT_MILLISECONDS, surveyOf } from "./survey.ts";

const KEEP_MILLISECONDS = 60_000;
const KEEP_INCOMPLETE_MILLISECONDS = 5000;
const STALE_MILLISECONDS = 60 * 60 * 1000;
const MAX_LOGGED_DIFFERENCES = 20;

interface KnownCapabilities {
  readonly capabilities: Capabilities;
  readonly answeredAt: number;
}

/** @param report writes a line of the log @param gatheredBytes how much may come from all backends together */
export function shareCapabilities(
  pool: { readonly backends: readonly Backend[] },
  report: (line: object) => void,
  gatheredBytes?: number,
): SharedAnswer<Capabilities | null> {
  const known = new Map<Backend, KnownCapabilities>();
  let loggedDifferences = "";
  const survey = surveyOf(pool, CAPABILITIES_PATH, MAX_CAPABILITIES_BYTES, gatheredBytes);
  const record = (backend: Backend, text: string | null): boolean => {
    const capabilities = text === null ? null : parseCapabilities(text);
    const now = MONOTONIC_CLOCK.now();
    if (capabilities !== null) known.set(backend, { capabilities, answeredAt: now });
    else if (now - (known.get(backend)?.answeredAt ?? now) > STALE_MILLISECONDS) known.delete(backend);
    return capabilities !== null;
  };
  const gather = async () => {
    const { backends } = pool;
    const answers = await survey.ask(backends);
    const isComplete = backends.map((backend) => record(backend, answers.get(backend) ?? null)).every(Boolean);
    for (const backend of known.keys()) if (!backends.includes(backend)) known.delete(backend);
    const all = Array.from(known.values(), ({ capabilities }) => capabilities);
    const differences = capabilityDifferences(all);
    // Once for each change, not at each gathering.
    const isNews = differences.length > 0 && differences.join() !== loggedDifferences;
    if (isNews) report(describeDifferences([...known.keys()], differences));
    loggedDifferences = differences.join();
    const [first, ...others] = all;
    return {
      value: first === undefined ? null : commonCapabilities([first, ...others]),
      keepMilliseconds: isComplete ? KEEP_MILLISECONDS : KEEP_INCOMPLETE_MILLISECONDS,
      staleMilliseconds: first === undefined ? 0 : STALE_MILLISECONDS,
    };
  };
  return new SharedAnswer(gather, SURVEY_TIMEOUT_MILLISECONDS, () => null);
}

function describeDifferences(backends: readonly Backend[], differences: readonly string[]): object {
  return {
    message: "the backends do not have the same capabilities",
    origins: backends.map(({ name }) => name),
    notEverywhere: differences.slice(0, MAX_LOGGED_DIFFERENCES),
    notEverywhereCount: differences.length,
  };
}
