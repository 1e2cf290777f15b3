/**
 * What must be true of every schedule, one function each. A function returns what is wrong, or null.
 */
import { PROBLEMS } from "../../rules/problem.ts";
import type { AnswerFacts, AttemptFacts, RequestFacts } from "./facts.ts";
import type { PlannedRequest } from "./schedule.ts";
import type { BackendProcess } from "./simulated-backend.ts";
import type { SimulatedEdge } from "./simulated-edge.ts";
import type { World } from "./world.ts";

/** How much later than the edge's patience an answer may be, for timers that fire late. */
const ANSWER_MARGIN_MILLISECONDS = 100;
/** What a render needs in addition to waiting for a slot and rendering, if the network works. */
const TRANSFER_MILLISECONDS = 1000;
/** An attempt, or the pause before it, that does not fit into what is left of the patience. */
const TOO_LATE_MILLISECONDS = 350;
/** Seconds and milliseconds are added up in floating point. */
const ROUNDING_MILLISECONDS = 1;
const MAX_ATTEMPTS = 4;
const MAX_BROUGHT_DOWN = 2;
/** A render below this length makes no caller slow (`SLOW_RENDER_SECONDS`). */
const SHORT_RENDER_MILLISECONDS = 2000;
/** How often in a row an origin that fails may be asked: after pauses of 1, 2, 4, 8 and 16 seconds, and one more. */
const MAX_NEEDLESS_ATTEMPTS = 6;
const NEEDLESS_WINDOW_MILLISECONDS = 30_000;
/** An origin counts as healthy if it has been healthy for this long. */
const WELL_MILLISECONDS = 60_000;
/** The longest pause of an origin that fails, and a probe whose result is lost. */
const RECOVERY_MILLISECONDS = 35_000;
/** How often an origin may be passed over. Of two origins, both are compared each time; of more, a random pair. */
const MAX_PASSED_OVER_OF_TWO = 3;
const MAX_PASSED_OVER = 40;

/** The longest silence before an origin is given up: that of two probes, because one during which it answers something is repeated. */
const MAX_SILENCE_MILLISECONDS = 13_500;

const BUSY = PROBLEMS.render_queue_full.status;
const BROKEN = PROBLEMS.service_unavailable.status;

type Finding = string | null;

// At every step, of every process.

export const OF_A_PROCESS: readonly ((process: BackendProcess, world: World) => Finding)[] = [
  /** A backend never renders more than it has slots. */
  function noMoreRendersThanSlots({ rendering, queue }, { settings: { slots } }) {
    const count = total(rendering);
    return count > slots || queue.running > slots ? `${count} renders, the queue says ${queue.running}` : null;
  },

  /** A queue never holds more than its bound. */
  function noMoreWaitingThanAllowed({ asking, queue }, { settings: { maxWaiting } }) {
    const count = total(asking);
    return count > maxWaiting || queue.waiting !== count ? `${count} wait, the queue says ${queue.waiting}` : null;
  },

  /** While somebody waits, all slots are in use, but for one that may be kept for short renders. */
  function noSlotIdleWhileSomebodyWaits({ queue }, { settings: { slots } }) {
    const kept = slots > 1 ? 1 : 0;
    return queue.waiting > 0 && queue.running < slots - kept ? `${queue.running} running, ${queue.waiting} wait` : null;
  },

  /**
   * With two slots or more, no caller is given the last slot that it does not hold yet while another caller waits, unless it is only
   * lent.
   */
  function noCallerGetsAllSlotsWhileAnotherWaits({ admitted, rendering, asking }, { settings: { slots } }) {
    if (slots < 2) return null;
    const greedy = admitted.find((caller) => rendering.get(caller) === slots);
    if (greedy === undefined) return null;
    return [...asking.keys()].some((caller) => caller !== greedy) ? `${greedy} holds all ${slots} slots` : null;
  },

  /** A caller with short renders that holds no slot goes before every caller that holds one, so nobody waits for ever. */
  function shortRendersOfOthersGoFirst(process) {
    const second = process.admitted.find((caller) => (process.rendering.get(caller) ?? 0) > 1);
    if (second === undefined) return null;
    for (const caller of process.asking.keys()) {
      if (caller === second || process.rendering.has(caller)) continue;
      if (process.longestOf(caller) < SHORT_RENDER_MILLISECONDS) return `${second} went before ${caller}`;
    }
    return null;
  },

  /** No slot stays lent while a caller with short renders that holds none waits. */
  function lentSlotsAreWithdrawn(process) {
    if (process.lent.size === 0) return null;
    for (const caller of process.asking.keys()) {
      if (process.rendering.has(caller) || process.longestOf(caller) >= SHORT_RENDER_MILLISECONDS) continue;
      return `${[...process.lent.keys()].join()} has a lent slot, ${caller} has none`;
    }
    return null;
  },
];

// When a request gets a slot, or is told that it gets none.

export interface WaitFacts {
  readonly kind: "admitted" | "lent" | "full";
  readonly waitedMilliseconds: number;
  readonly allowedMilliseconds: number;
  readonly waiting: number;
  readonly freeSlots: number;
  /** Whether the connection was known to be closed. */
  readonly isGone: boolean;
  /** Whether the process has hung, so that its timers were late. */
  readonly hasHung: boolean;
}

export const OF_A_WAIT: readonly ((wait: WaitFacts, world: World) => Finding)[] = [
  /** Nobody waits longer for a slot than the edge's patience allows. */
  function nobodyWaitsTooLong({ waitedMilliseconds, allowedMilliseconds, hasHung }) {
    const isTooLong = waitedMilliseconds > allowedMilliseconds + ROUNDING_MILLISECONDS;
    return isTooLong && !hasHung ? `${waitedMilliseconds} ms of ${allowedMilliseconds}` : null;
  },

  /** A queue says that it is full, or lends a slot, only when it is full or the time for waiting has passed. */
  function fullOnlyWhenFull({ kind, waitedMilliseconds, allowedMilliseconds, waiting }, { settings }) {
    if (kind === "admitted" || waitedMilliseconds > allowedMilliseconds - ROUNDING_MILLISECONDS) return null;
    return waiting < settings.maxWaiting ? `${waiting} of ${settings.maxWaiting} places taken` : null;
  },

  /** Nobody is refused while a slot is free. */
  function nobodyIsRefusedWhileASlotIsFree({ kind, freeSlots }) {
    return kind === "full" && freeSlots > 0 ? `${freeSlots} slots were free` : null;
  },

  /** No slot goes to a request whose connection is closed. */
  function noSlotForTheGone({ kind, isGone }) {
    return kind !== "full" && isGone ? "the connection was closed" : null;
  },
];

// When an attempt begins.

export const OF_AN_ATTEMPT: readonly ((
  edge: SimulatedEdge,
  request: RequestFacts,
  backend: number,
  world: World,
) => Finding)[] = [
  /** Nothing is tried again once an answer has begun. */
  function nothingIsTriedAfterTheFirstByte(_edge, { attempts, answers }) {
    return answers.length > 0 || attempts.some(({ end }) => end === "answered") ? "an attempt after the answer" : null;
  },

  /** A render has one attempt at a time, and four in all. */
  function fewAttempts(_edge, { attempts }) {
    if (attempts.some(({ end }) => end === null)) return "two attempts at once";
    return attempts.length >= MAX_ATTEMPTS ? `attempt ${attempts.length + 1}` : null;
  },

  /** No attempt begins after the patience has ended. */
  function noAttemptAfterTheDeadline(_edge, { deadline }, _backend, { time }) {
    return time.now > deadline ? `${time.now - deadline} ms after the deadline` : null;
  },

  /**
   * While another origin is well and has not been asked, one that fails is not asked before a probe has found it ready; and
   * if it is ready and renders still fail, only a few times in 30 seconds. One that has refused a request may be suspect until it
   * answers: while it is full, a probe does not clear it.
   */
  function aFailingBackendIsEjected(edge, request, backend, world) {
    const seen = edge.seenOf(backend);
    if (seen.failingSince === null) return null;
    const { now } = world.time;
    const isNeedless = edge.seen.some((other, index) => {
      if (other.failingSince !== null || other.hasRefused) return false;
      if (request.attempts.some((attempt) => attempt.backend === index)) return false;
      if (world.backendAt(index).process?.isServing !== true) return false;
      return world.disturbances.isClear(edge.index, index, now - WELL_MILLISECONDS, now);
    });
    if (!isNeedless) return null;
    const { downSince } = world.backendAt(backend);
    if (downSince !== null && downSince <= seen.failingSince) return `backend ${backend} is down`;
    // Others have followed the first one before that failed.
    if (seen.lastAskedAt > seen.lastFailureAt) return null;
    seen.needlessAt.push(now);
    const recent = seen.needlessAt.filter((at) => at > now - NEEDLESS_WINDOW_MILLISECONDS);
    return recent.length > MAX_NEEDLESS_ATTEMPTS ? `${recent.length} times backend ${backend}` : null;
  },

  /** An origin that has been healthy for 35 seconds and has had no attempt in that time gets work when all others are busy. */
  function aRecoveredBackendGetsWork(edge, request, backend, world) {
    edge.seenOf(backend).passedOver = 0;
    const { backends, slots } = world.settings;
    const since = world.time.now - RECOVERY_MILLISECONDS;
    for (const [index, seen] of edge.seen.entries()) {
      if (index === backend || seen.open > 0 || Math.max(seen.lastFailureAt, seen.lastAskedAt) > since) continue;
      if (request.attempts.some((attempt) => attempt.backend === index)) continue;
      if (edge.seen.some((other, place) => place !== index && other.open < slots)) continue;
      if (world.backendAt(index).process?.isServing !== true) continue;
      if (world.disturbances.clearSince(edge.index, index) > since) continue;
      seen.passedOver++;
      const allowed = backends === 2 ? MAX_PASSED_OVER_OF_TWO : MAX_PASSED_OVER;
      if (seen.passedOver > allowed) return `backend ${index} was passed over ${seen.passedOver} times`;
    }
    return null;
  },
];

// When an edge takes an origin out of use.

export const OF_A_LOSS: readonly ((edge: SimulatedEdge, backend: number, probedAt: number, world: World) => Finding)[] =
  [
    /** Whatever callers send, an origin that was healthy throughout a probe does not go out of use. */
    function onlyBackendsThatFailGoOutOfUse(edge, backend, probedAt, { disturbances, time }) {
      return disturbances.isClear(edge.index, backend, probedAt, time.now) ? `backend ${backend} was well` : null;
    },
  ];

// When another request takes the memory of a body.

export const OF_A_TAKEN_BODY: readonly ((request: RequestFacts) => Finding)[] = [
  /** The memory of a body goes to another request only when an origin has the whole body. */
  function noBodyIsTakenBeforeItIsSent({ attempts }) {
    const last = attempts.at(-1);
    if (last === undefined) return "no origin has it";
    return last.end === null && !last.isSent ? `backend ${last.backend} does not have it` : null;
  },
];

// At the end, of every request.

export const OF_A_REQUEST: readonly ((request: RequestFacts, world: World) => Finding)[] = [
  /** Every request gets exactly one answer, unless its client has left: then none. */
  function exactlyOneAnswer({ answers, leftAt }) {
    const expected = leftAt === null ? 1 : 0;
    return answers.length === expected ? null : `${answers.length} answers`;
  },

  /** No answer begins later than the patience of the edge, and a margin for timers that fire late. */
  function answeredInTime({ answers: [answer], forwardedAt, deadline }) {
    if (answer === undefined || forwardedAt === null) return null;
    const late = answer.at - deadline;
    return late > ANSWER_MARGIN_MILLISECONDS ? `${late} ms after the deadline` : null;
  },

  /** A file or a problem of a render comes from a process that has really completed this render. */
  function whatIsAnsweredWasRendered({ answers: [answer] }) {
    if (answer === undefined || answer.status === BUSY || answer.status === BROKEN) return null;
    return answer.isRendered ? null : `${answer.status} without a render`;
  },

  /** An answer that tells the client to come back says when: after a second or more. */
  function retryAfterIsPositive({ answers: [answer] }) {
    if (answer?.status !== BUSY) return null;
    const seconds = answer.retryAfterSeconds;
    return seconds !== null && Number.isInteger(seconds) && seconds >= 1 ? null : `Retry-After ${seconds}`;
  },

  /** A request brings down at most two backends. */
  function fewBackendsAreBroughtDown({ broughtDown }) {
    return broughtDown > MAX_BROUGHT_DOWN ? `${broughtDown} backends` : null;
  },

  /** 429 is answered only if an origin or the memory of the edge was full. */
  function busyOnlyWhenFull({ answers: [answer], attempts, refusedWithOthersBytes }) {
    if (answer?.status !== BUSY) return null;
    if (refusedWithOthersBytes !== null) return refusedWithOthersBytes > 0 ? null : "the memory was empty";
    return attempts.some(({ end }) => end === "full") ? null : "no origin was full";
  },

  /** 503 is not answered if an origin was full. */
  function brokenOnlyWhenNobodyIsFull({ answers: [answer], attempts }) {
    return answer?.status === BROKEN && attempts.some(({ end }) => end === "full") ? "an origin was full" : null;
  },

  /** 503 is answered only after a fault: something disturbed a backend during the request, or the request itself is at fault. */
  function brokenOnlyAfterAFault(request, world) {
    const { answers, planned, forwardedAt } = request;
    const [answer] = answers;
    if (answer?.status !== BROKEN || isAtFault(planned) || forwardedAt === null) return null;
    const isClear = world.backends.every(({ index }) => isClearDuring(world, request, forwardedAt, answer, index));
    return isClear ? "no fault" : null;
  },

  /**
   * If an origin could serve all the time, the request is answered by a render. Else
   * - that origin was full, or
   * - two others were lost while they had the request, or
   * - its body had been given up for another request, or
   * - faults of others had used up so much of the patience that a render might not fit in, or
   * - it is poison, or every backend refuses it.
   */
  function servedIfABackendIsHealthy(request, world) {
    const { answers, attempts, forwardedAt, deadline, isBodyTaken, planned } = request;
    const [answer] = answers;
    if (answer === undefined || answer.isRendered || forwardedAt === null || isAtFault(planned)) return null;
    const lost = attempts.filter(({ end, isSent }) => end === "unanswered" && isSent).length;
    const isTooLate = deadline - answer.at < TOO_LATE_MILLISECONDS;
    for (const { index } of world.backends) {
      if (!isClearDuring(world, request, forwardedAt, answer, index)) continue;
      const own = attempts.filter(({ backend }) => backend === index);
      if (own.length === 0 && (lost >= MAX_BROUGHT_DOWN || isBodyTaken || isTooLate)) continue;
      if (own.length > 0 && own.every((attempt) => isExcused(attempt, world))) continue;
      return `backend ${index} was well; ${answer.status} after ${attempts.map(describeAttempt).join(", ") || "nothing"}`;
    }
    return null;
  },

  /**
   * An attempt at an origin that takes renders and answers none ends within some seconds, if another one was well for a minute and
   * has not been tried. Schedules with a request that every backend refuses, or that is poison, are left out: it makes origins suspect.
   */
  function aGreyBackendIsSoonGivenUp({ attempts }, world) {
    const { backends, disturbances, requests, schedule } = world;
    if (schedule.scenario !== "one grey" || requests.some(({ planned }) => isAtFault(planned))) return null;
    for (const [place, { edge, backend, beganAt, endedAt, end }] of attempts.entries()) {
      const { greySince, greyUntil } = world.backendAt(backend);
      const answeredAt = requests
        .flatMap((request) => request.attempts)
        .filter((other) => other.edge === edge && other.backend === backend && other.end === "answered")
        .map((other) => other.endedAt);
      const quietSince = Math.max(beganAt, greySince, ...answeredAt.filter((at) => at < endedAt));
      const quietUntil = Math.min(endedAt, greyUntil);
      if (end !== "unanswered" || quietUntil - quietSince <= MAX_SILENCE_MILLISECONDS) continue;
      const tried = attempts.slice(0, place + 1).map((attempt) => attempt.backend);
      const other = backends.find(
        ({ index }) =>
          !tried.includes(index) && disturbances.isClear(edge, index, beganAt - WELL_MILLISECONDS, endedAt),
      );
      if (other !== undefined) return `${Math.round(endedAt - beganAt)} ms at backend ${backend}`;
    }
    return null;
  },

  /** When one of several backends is killed or turns grey, or all are updated one after another, no render is lost. */
  function plannedFaultsLoseNothing({ answers: [answer], attempts, planned }, { schedule, settings }) {
    if (!["one killed", "one grey", "rolling update"].includes(schedule.scenario)) return null;
    if (answer?.status !== BROKEN || isAtFault(planned)) return null;
    // Too short to find out that an origin is grey, which still answers the renders that it had before.
    const noticedAfter = MAX_SILENCE_MILLISECONDS + settings.renderTimeoutSeconds * 1000;
    if (schedule.scenario === "one grey" && settings.backendTimeoutSeconds * 1000 < noticedAfter) return null;
    const needed = neededMilliseconds(settings);
    const wasTimeUsed = attempts.some((attempt) => attempt.remainingMilliseconds < needed);
    return wasTimeUsed ? null : attempts.map(describeAttempt).join(", ");
  },
];

// When all is over.

export const AT_THE_END: readonly ((world: World) => Finding)[] = [
  /** No slot, place in a queue, request or byte of memory is left at a backend. */
  function nothingIsLeftAtABackend({ backends }) {
    for (const { index, process } of backends) {
      if (process === null) return `backend ${index} did not come back`;
      const { queue, underWay, memory } = process;
      const left = [queue.running, queue.waiting, underWay, memory.reservedBytes];
      if (left.some((count) => count !== 0)) return `backend ${index} has ${left.join(", ")} left`;
    }
    return null;
  },

  /** No memory, upload or attempt is left at an edge, unless clients left without its notice: then nothing after their time. */
  function nothingIsLeftAtAnEdge({ edges, requests, time, isPastAllLifetimes }) {
    for (const { index, memory, uploads, choice } of edges) {
      const hasUnnoticed = requests.some(
        ({ planned, leftAt }) => planned.edge === index && leftAt !== null && !planned.isLeavingNoticed,
      );
      if (hasUnnoticed && !isPastAllLifetimes) continue;
      const left = [memory.reservedBytes, memory.reservationCount, uploads.held, choice.underWay(time.now)];
      if (left.some((count) => count !== 0)) return `edge ${index} has ${left.join(", ")} left`;
    }
    return null;
  },
];

/** Whether no backend can render it. */
function isAtFault({ poison, refusal }: PlannedRequest): boolean {
  return poison !== null || refusal !== null;
}

function isExcused({ end, remainingMilliseconds }: AttemptFacts, { settings }: World): boolean {
  if (end === "full") return true;
  return end === "unanswered" && remainingMilliseconds < neededMilliseconds(settings);
}

/** What the longest render needs of the patience. */
function neededMilliseconds({ queueDeadlineSeconds, renderTimeoutSeconds }: World["settings"]): number {
  return (queueDeadlineSeconds + renderTimeoutSeconds) * 1000 + TRANSFER_MILLISECONDS;
}

function isClearDuring(
  { disturbances }: World,
  { planned }: RequestFacts,
  forwardedAt: number,
  { at }: AnswerFacts,
  backend: number,
): boolean {
  return disturbances.isClear(planned.edge, backend, forwardedAt, at);
}

function describeAttempt({ backend, end, isSent, remainingMilliseconds }: AttemptFacts): string {
  return `backend ${backend} with ${Math.round(remainingMilliseconds)} ms left: ${end}${isSent ? ", sent" : ""}`;
}

function total(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}
