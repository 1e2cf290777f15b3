/**
 * The time that a render may take, layer by layer. Edge and backend refuse to start if a layer would give up before the
 * one below it, because then it would be unclear why a render failed.
 */
import { type Environment, type IntegerSetting, readIntegerSettings, SettingError } from "./settings.ts";

/** Time of an answer for sending the body and trying a second backend, without waiting for a slot and rendering. */
const MARGIN_SECONDS = 10;
/** The part of it that one backend may take. The rest is for another one. */
const ANSWER_MARGIN_SECONDS = 5;
/** A request waits so much longer than a render may take: even if the longest hold all slots, one ends meanwhile. */
const QUEUE_MARGIN_SECONDS = 10;

const renderTimeout = {
  setting: "SERVICE_RENDER_TIMEOUT_SECONDS",
  default: 20,
  min: 1,
  max: 600,
  meaning: "how long one render may take before it gets 408",
} as const satisfies IntegerSetting & { meaning: string };

export const RENDER_TIME_SETTINGS = {
  queueDeadlineSeconds: {
    setting: "SERVICE_QUEUE_DEADLINE_SECONDS",
    default: renderTimeout.default + QUEUE_MARGIN_SECONDS,
    min: 1,
    max: renderTimeout.max + QUEUE_MARGIN_SECONDS,
    meaning: `how long a request waits for a slot before it gets 429. The default is ${QUEUE_MARGIN_SECONDS} seconds more than the render timeout: then one flood of long renders keeps nobody else out`,
  },
  renderTimeoutSeconds: renderTimeout,
} as const satisfies Record<string, IntegerSetting & { meaning: string }>;

/** The memory and processor time of one render, by default: clients say which documents may need more. */
export const DEFAULT_RENDER_USE = { memoryBytes: 1024 ** 3, cpuSeconds: 15 } as const;

const { queueDeadlineSeconds, renderTimeoutSeconds } = RENDER_TIME_SETTINGS;

/** Nothing in the service asks a caller to wait longer: after the longest queue deadline, a slot has become free. */
export const MAX_RETRY_AFTER_SECONDS = queueDeadlineSeconds.max;

export const BACKEND_TIMEOUT_SETTING = {
  setting: "SERVICE_BACKEND_TIMEOUT_SECONDS",
  default: queueDeadlineSeconds.default + renderTimeoutSeconds.default + MARGIN_SECONDS,
  min: 1,
  max: queueDeadlineSeconds.max + renderTimeoutSeconds.max + MARGIN_SECONDS,
  meaning: `how long the edge waits for the answer to begin, for all backends that it tries; more than the queue deadline and the render timeout together. The default is ${MARGIN_SECONDS} seconds more`,
} as const satisfies IntegerSetting & { meaning: string };

export interface RenderTime extends Readonly<Record<keyof typeof RENDER_TIME_SETTINGS, number>> {
  readonly backendTimeoutSeconds: number;
}

/** @throws SettingError when one is not valid, or the edge would give up while a backend may still answer. */
export function readRenderTime(environment: Environment): RenderTime {
  const read = (definition: IntegerSetting, defaultSeconds: number): number =>
    readIntegerSettings({ seconds: { ...definition, default: defaultSeconds } }, environment).seconds;
  const renderSeconds = read(renderTimeoutSeconds, renderTimeoutSeconds.default);
  const queueSeconds = read(queueDeadlineSeconds, renderSeconds + QUEUE_MARGIN_SECONDS);
  const belowSeconds = queueSeconds + renderSeconds;
  const backendTimeoutSeconds = read(BACKEND_TIMEOUT_SETTING, belowSeconds + MARGIN_SECONDS);
  if (backendTimeoutSeconds > belowSeconds) {
    return { queueDeadlineSeconds: queueSeconds, renderTimeoutSeconds: renderSeconds, backendTimeoutSeconds };
  }
  throw new SettingError(
    `${BACKEND_TIMEOUT_SETTING.setting} must be more than ${queueDeadlineSeconds.setting} and ${renderTimeoutSeconds.setting} together (${belowSeconds}); it is ${backendTimeoutSeconds}.`,
  );
}

const ANSWER_MILLISECONDS = 1000;

export const MAX_BODY_MILLISECONDS = 60_000;
/** How long the edge lets an upload to a backend take: longer than the backend, whose answer says more. */
export const MAX_UPLOAD_MILLISECONDS = MAX_BODY_MILLISECONDS + 5000;

/** A slower link than this is not expected: 100 kB/s. */
const MIN_BYTES_PER_MILLISECOND = 100;

/** Proxies in between buffer megabytes, so the edge cannot tell from a sent body how slow the link is. */
export function longestTransitMilliseconds(bytes: number): number {
  return Math.min(MAX_BODY_MILLISECONDS, bytes / MIN_BYTES_PER_MILLISECOND);
}

export function longestAnswerMilliseconds({ queueDeadlineSeconds, renderTimeoutSeconds }: RenderTime): number {
  return (queueDeadlineSeconds + renderTimeoutSeconds + ANSWER_MARGIN_SECONDS) * 1000;
}

/** The render timeout, or less, so that the backend answers before the edge gives up; at least a second. */
export function renderTimeoutWithin(renderTimeoutSeconds: number, leftMilliseconds: number): number {
  const seconds = Math.floor((leftMilliseconds - ANSWER_MILLISECONDS) / 1000);
  return Math.min(renderTimeoutSeconds, Math.max(1, seconds));
}

/** The queue deadline, or less where the time budget would not leave a whole render; at least half of the budget. */
export function queueDeadlineMilliseconds(
  { queueDeadlineSeconds, renderTimeoutSeconds }: Pick<RenderTime, "queueDeadlineSeconds" | "renderTimeoutSeconds">,
  timeBudgetMilliseconds: number,
): number {
  const afterRender = timeBudgetMilliseconds - renderTimeoutSeconds * 1000;
  return Math.min(queueDeadlineSeconds * 1000, Math.max(afterRender, timeBudgetMilliseconds / 2));
}
