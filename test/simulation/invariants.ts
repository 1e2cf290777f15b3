/** What must be true of every schedule, one function each. A function returns what is wrong, or null. */
import {
  MIN_ATTEMPT_MILLISECONDS,
  PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS,
} from "../../edge/backends/render-attempts.ts";
import { NO_MEMORY_RETRY_SECONDS } from "../../protocol/body-collector.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import {
  longestAnswerMilliseconds,
  longestTransitMilliseconds,
  MAX_UPLOAD_MILLISECONDS,
} from "../../rules/render-time.ts";
import type { AttemptFacts, CallerFacts, RequestFacts, Seen } from "./facts.ts";
import type { EdgeView, ProcessView, WorldView } from "./parts.ts";
import type { PlannedRequest, SimulatedSettings } from "./schedule.ts";

/** How much later than the edge's time budget an answer may be, for timers that fire late. */
const ANSWER_MARGIN_MILLISECONDS = 100;
/** What a render needs in addition to waiting for a slot and rendering, if the network works. */
const TRANSFER_MILLISECONDS = 1000;
/** An attempt, and the pause before it, that do not fit into what is left of the time budget. */
const TOO_LATE_MILLISECONDS = PAUSE_BEFORE_SECOND_ROUND_MILLISECONDS + MIN_ATTEMPT_MILLISECONDS;
/** Seconds and milliseconds are added up in floating point. */
const ROUNDING_MILLISECONDS = 1;
// Promises, and so numbers of their own: what the code has instead is what is tested.
const MAX_ATTEMPTS = 4;
const MAX_BROUGHT_DOWN = 2;
const MAX_BYTES_SENT = 80 * 1024 ** 2;
/** A render below this length makes no caller slow, nor one below this many times those of others. */
const SHORT_RENDER_MILLISECONDS = 2000;
const SLOW_FACTOR = 2;
/** For this long, a slot is kept free for a caller with short renders. */
const KEEP_SLOT_MILLISECONDS = 15_000;
/** Half of the slot time that a caller has used is forgotten in this time, and less than this makes no difference. */
const USE_HALF_LIFE_MILLISECONDS = 30_000;
const CLEAR_USE_MILLISECONDS = 1000;
/** What others may hold of the memory for bodies beside the largest body: all, and those of one caller. */
const MIN_FRACTION_FOR_OTHERS = 1 / 4;
const MIN_FRACTION_FOR_OTHERS_OF_OWNER = 1 / 16;
/** How long a backend that is about to stop is avoided, and how long its load and its return count. */
const DRAINING_MILLISECONDS = 30_000;
const LOAD_LIFETIME_MILLISECONDS = 5000;
const RETURN_LIFETIME_MILLISECONDS = 2000;
/** A backend with a render is probed after this silence. */
const SILENCE_MILLISECONDS = 3000;
/** For how long a backend that was full counts as full. */
export const FULL_MILLISECONDS = 1000;
const MAX_PROBES_PER_SECOND = 8;
const MAX_WAITING_FETCHES = 3;
/** Beside one question and one attempt for each backend. */
const MAX_FETCHES_BESIDE = 10;
/** The pause after a probe without a result, and after a failed one: doubled each time, up to the longest. */
const UNANSWERED_PROBE_GAP_MILLISECONDS = 1000;
const FIRST_PAUSE_MILLISECONDS = 1000;
const LONGEST_PAUSE_MILLISECONDS = 3000;
/** A backend that is about to stop is probed this long after its last answer. */
const DRAINING_PROBE_GAP_MILLISECONDS = 2000;
/** A backend counts as healthy if it has been healthy for this long. */
const HEALTHY_MILLISECONDS = 60_000;
/** The longest silence before a backend is given up: a probe during which it answers something is repeated. */
const MAX_SILENCE_MILLISECONDS = 13_500;

const BUSY = PROBLEMS.render_queue_full.status;
const BROKEN = PROBLEMS.service_unavailable.status;

type Finding = string | null;

// Whenever a request came to a process, or left it: only then slots are given out.

export const OF_A_PROCESS: readonly ((process: ProcessView, world: WorldView) => Finding)[] = [
  function noMoreRendersThanSlots({ callers, probing, queue }, { settings: { slots } }) {
    const count = probing + total(callers, ({ running }) => running.size);
    return count > slots || queue.running > slots ? `${count} renders, the queue says ${queue.running}` : null;
  },

  function noMoreWaitingThanAllowed({ callers, queue }, { settings: { maxWaiting } }) {
    const count = total(callers, ({ asking }) => asking.size);
    return count > maxWaiting || queue.waiting !== count ? `${count} wait, the queue says ${queue.waiting}` : null;
  },

  /** While somebody waits, all slots are in use, but for one that is kept free of those whose renders are long. */
  function noSlotIdleWhileSomebodyWaits({ callers, queue }, { settings: { slots }, time }) {
    if (queue.waiting === 0 || queue.running >= slots) return null;
    if (slots === 1 || queue.running < slots - 1) return `${queue.running} running, ${queue.waiting} wait`;
    for (const [name, caller] of callers) {
      if (caller.asking.size > 0 && !mayBeHeldBack(caller, callers, time.now)) return `a slot is free, ${name} waits`;
    }
    return null;
  },

  /** Callers with long renders leave one slot for those with short ones, unless it is only lent. */
  function slowCallersLeaveASlot({ admitted, callers }, { settings: { slots }, time }) {
    const isSlow = (caller: CallerFacts) => caller.hasFinished && isSlower(caller, callers, time.now);
    if (slots < 2 || !admitted.some(({ caller }) => isSlow(caller))) return null;
    const held = total(callers, (caller) => (isSlow(caller) ? ownSlots(caller) : 0));
    return held >= slots ? `${held} of ${slots} slots` : null;
  },

  /** With two slots or more, no caller is given the last one while another waits, unless it is only lent. */
  function noCallerGetsAllSlotsWhileAnotherWaits({ admitted, callers }, { settings: { slots } }) {
    if (slots < 2) return null;
    const greedy = admitted.find(({ caller }) => caller.running.size === slots);
    if (greedy === undefined) return null;
    const waits = callers.values().some((caller) => caller !== greedy.caller && caller.asking.size > 0);
    return waits ? `one caller holds all ${slots} slots` : null;
  },

  /**
   * One with fewer slots goes first, then one that has used clearly less slot time of late, then the one whose last turn
   * is longest ago. So nobody waits for ever.
   */
  function theRightCallerIsNext({ admitted, callers }, { time: { now } }) {
    if (admitted.length === 0) return null;
    const waiting = [...callers].filter(([, { asking }]) => asking.size > 0);
    for (const chosen of admitted) {
      const before = { ...chosen, usedMilliseconds: chosen.caller.usedAt(now, USE_HALF_LIFE_MILLISECONDS) };
      for (const [name, caller] of waiting) {
        const isAdmitted = admitted.some((one) => one.caller === caller);
        if (isAdmitted || mayBeHeldBack(caller, callers, now) || !goesBefore(placeOf(caller, now), before)) continue;
        const isFirst = waiting.every(
          ([, other]) => other === caller || goesBefore(placeOf(caller, now), placeOf(other, now)),
        );
        if (isFirst) return `it was the turn of ${name}`;
      }
    }
    return null;
  },

  /** No slot stays lent while a caller that holds none waits and is not held back. */
  function lentSlotsAreWithdrawn({ callers }, { time: { now } }) {
    if (total(callers, ({ running }) => running.size) === total(callers, ownSlots)) return null;
    for (const [name, caller] of callers) {
      if (caller.asking.size === 0 || caller.running.size > 0 || mayBeHeldBack(caller, callers, now)) continue;
      return `a slot is lent, ${name} has none`;
    }
    return null;
  },

  /** No caller holds the memory for bodies that the largest body of another one needs. */
  function noCallerHoldsAllMemoryOfABackend({ callers }, { settings: { backendMemoryBytes, largestBodyBytes } }) {
    const share = Math.max(largestBodyBytes, backendMemoryBytes - largestBodyBytes);
    const most = Math.max(0, ...[...callers.values()].map(({ bodyBytes }) => bodyBytes));
    return most > share ? `${most} of ${backendMemoryBytes} bytes` : null;
  },
];

/** Whether its renders are so long that a slot may be kept free of them. Its first one never waits for that. */
function mayBeHeldBack(caller: CallerFacts, callers: Callers, now: number): boolean {
  const longest = caller.longestAt(now);
  if (longest <= SHORT_RENDER_MILLISECONDS || (caller.running.size === 0 && !caller.hasFinished)) return false;
  return activeCallers(callers, now).some((other) => longest >= SLOW_FACTOR * other.shortestAt(now));
}

/** Whether its renders are that long for certain. */
function isSlower(caller: CallerFacts, callers: Callers, now: number): boolean {
  const shortest = caller.shortestAt(now);
  if (shortest <= SHORT_RENDER_MILLISECONDS + ROUNDING_MILLISECONDS) return false;
  return activeCallers(callers, now).some((other) => shortest > SLOW_FACTOR * other.longestAt(now));
}

type Place = ReturnType<typeof placeOf>;

function placeOf(caller: CallerFacts, now: number) {
  const { running, latestTurn } = caller;
  return { running: running.size, latestTurn, usedMilliseconds: caller.usedAt(now, USE_HALF_LIFE_MILLISECONDS) };
}

/** Whether one certainly goes before the other. There may be one that goes before both, and behind each of them. */
function goesBefore(left: Place, right: Place): boolean {
  if (left.running !== right.running) return left.running < right.running;
  const usedMore = left.usedMilliseconds - right.usedMilliseconds;
  if (Math.abs(usedMore) > CLEAR_USE_MILLISECONDS + ROUNDING_MILLISECONDS) return usedMore < 0;
  return Math.abs(usedMore) < CLEAR_USE_MILLISECONDS - ROUNDING_MILLISECONDS && left.latestTurn < right.latestTurn;
}

type Callers = ReadonlyMap<string, CallerFacts>;

/** Those of which it is known how long their renders take, and for which a slot may be kept. */
function activeCallers(callers: Callers, now: number): CallerFacts[] {
  return [...callers.values()].filter((other) => other.hasFinished && other.isActive(now, KEEP_SLOT_MILLISECONDS));
}

const ownSlots = ({ running }: CallerFacts) => [...running].filter(({ isLent }) => !isLent).length;

function total(callers: Callers, count: (caller: CallerFacts) => number): number {
  let sum = 0;
  for (const caller of callers.values()) sum += count(caller);
  return sum;
}

// Whenever a body came to an edge, or left it.

export const OF_AN_EDGE: readonly ((edge: EdgeView, world: WorldView) => Finding)[] = [
  /** Memory counts as taken as long as a body is in it, or for its lifetime if its client left without notice. */
  function memoryIsHeldByBodies({ requests, memory }) {
    let held = 0;
    for (const { planned, isGone, heldBytes } of requests) {
      if (isGone && !planned.isLeavingNoticed) return null;
      held += heldBytes;
    }
    return memory.reservedBytes === held ? null : `${memory.reservedBytes} bytes are reserved, ${held} held`;
  },

  /** Beside the largest body there is a part for all others, and beside that of one caller a part for its others. */
  function memoryIsShared({ requests, memory }, { settings: { edgeMemoryBytes, largestBodyBytes } }) {
    const share = (bytes: number, fraction: number) =>
      largestBodyBytes + Math.max(edgeMemoryBytes - bytes, Math.floor(edgeMemoryBytes * fraction));
    const most = share(largestBodyBytes, MIN_FRACTION_FOR_OTHERS);
    if (memory.reservedBytes > most) return `${memory.reservedBytes} of ${most} bytes`;
    const mostOfCaller = share(2 * largestBodyBytes, MIN_FRACTION_FOR_OTHERS_OF_OWNER);
    const held = new Map<string, number>();
    for (const { planned, heldBytes } of requests) {
      if (heldBytes === 0) continue;
      const bytes = (held.get(planned.caller) ?? 0) + heldBytes;
      if (bytes > mostOfCaller) return `${planned.caller} holds ${bytes} of ${mostOfCaller} bytes`;
      held.set(planned.caller, bytes);
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
  /** Its place among the requests of its caller that wait, how many these are, and how many the most of one caller. */
  readonly isOldest: boolean;
  readonly isNewest: boolean;
  readonly ofCaller: number;
  readonly ofOthers: number;
  /** Whether the connection was known to be closed. */
  readonly isGone: boolean;
  /** Whether the process has hung, so that its timers were late. */
  readonly hasHung: boolean;
}

export const OF_A_WAIT: readonly ((wait: WaitFacts, world: WorldView) => Finding)[] = [
  /** Nobody waits longer for a slot than the edge's time budget allows. */
  function nobodyWaitsTooLong({ waitedMilliseconds, allowedMilliseconds, hasHung }) {
    const isTooLong = waitedMilliseconds > allowedMilliseconds + ROUNDING_MILLISECONDS;
    return isTooLong && !hasHung ? `${waitedMilliseconds} ms of ${allowedMilliseconds}` : null;
  },

  /** A queue says that it is full, or lends a slot, only when it is full or the time for waiting has passed. */
  function fullOnlyWhenFull({ kind, waitedMilliseconds, allowedMilliseconds, waiting }, { settings }) {
    if (kind === "admitted" || waitedMilliseconds > allowedMilliseconds - ROUNDING_MILLISECONDS) return null;
    return waiting < settings.maxWaiting ? `${waiting} of ${settings.maxWaiting} places taken` : null;
  },

  function callersAreServedInOrder({ kind, isOldest }) {
    return kind === "admitted" && !isOldest ? "an older one waits" : null;
  },

  /** A queue that is full refuses the newest request of the caller that has the most. */
  function theNewestOfTheMostIsRefused(wait) {
    const { kind, waitedMilliseconds, allowedMilliseconds, isNewest, ofCaller, ofOthers } = wait;
    if (kind === "admitted" || waitedMilliseconds > allowedMilliseconds - ROUNDING_MILLISECONDS) return null;
    return isNewest && ofCaller >= ofOthers ? null : `one of ${ofCaller}, another caller has ${ofOthers}`;
  },

  function nobodyIsRefusedWhileASlotIsFree({ kind, freeSlots }) {
    return kind === "full" && freeSlots > 0 ? `${freeSlots} slots were free` : null;
  },

  function noSlotForTheGone({ kind, isGone }) {
    return kind !== "full" && isGone ? "the connection was closed" : null;
  },
];

// When an attempt begins.

export const OF_AN_ATTEMPT: readonly ((
  edge: EdgeView,
  request: RequestFacts,
  backend: number,
  world: WorldView,
) => Finding)[] = [
  function nothingIsTriedAfterTheFirstByte(_edge, { attempts, answers }) {
    return answers.length > 0 || attempts.some(({ end }) => end === "answered") ? "an attempt after the answer" : null;
  },

  /** A render has one attempt at a time, four that cost something, and none that costs nothing twice at a backend. */
  function fewAttempts(_edge, { attempts }) {
    if (attempts.some(({ end }) => end === null)) return "two attempts at once";
    const costly = costlyOf(attempts);
    return costly.length >= MAX_ATTEMPTS ? `attempt ${costly.length + 1} that costs something` : null;
  },

  /** What is sent is bounded, if there are more than four attempts. */
  function fewBytesAreSent(_edge, { attempts, planned: { bytes } }) {
    if (attempts.length < MAX_ATTEMPTS) return null;
    const sent = bytes * (attempts.filter(({ isBegun }) => isBegun).length + 1);
    return sent > MAX_BYTES_SENT ? `${sent} bytes` : null;
  },

  function noAttemptAfterTheDeadline(_edge, { deadline }, _backend, { time }) {
    return time.now > deadline ? `${time.now - deadline} ms after the deadline` : null;
  },

  /** What has no room, or finds fault with the request, is not asked again. */
  function noAnswerIsAskedForAgain(_edge, { attempts, planned }, backend) {
    const own = attempts.find(
      (attempt) =>
        attempt.backend === backend &&
        (attempt.end === "full" || (attempt.end === "refused" && planned.refusal === "own")),
    );
    return own === undefined ? null : `backend ${backend} has answered: ${own.end}`;
  },

  /** First those that answer, then those about to stop, then those where a render failed, then where probes fail. */
  function theBestBackendIsAsked(edge, request, backend, { time }) {
    // After four attempts, those of which nothing is to be expected are left out.
    if (request.attempts.length >= MAX_ATTEMPTS) return null;
    const untried = untriedOf(edge, request);
    const chosen = standing(edge.seenOf(backend), time.now);
    const better = untried.find((index) => standing(edge.seenOf(index), time.now) < chosen);
    return untried.includes(backend) && better !== undefined ? `backend ${better} was better than ${backend}` : null;
  },

  /** Of two that are as good, one with nothing to do is asked, and none with work, by what the edge knows of both. */
  function theIdleBackendIsAsked(edge, request, backend, { time: { now } }) {
    const equal = untriedOf(edge, request).filter((index) => standing(edge.seenOf(index), now) === 0);
    const [other, ...more] = equal.filter((index) => index !== backend);
    if (!equal.includes(backend) || other === undefined || more.length > 0) return null;
    // Once a backend was full, only what is known to be idle goes before what is known to have work.
    const seen = edge.seenOf(other);
    const isKnown = now - seen.toldAt <= LOAD_LIFETIME_MILLISECONDS;
    if (!isKnown && request.attempts.some(({ end }) => end === "full")) return null;
    if (workOf(seen, now) > 0 || seen.left > 0 || now - seen.fullAt < FULL_MILLISECONDS) return null;
    if (now - seen.returnedAt <= RETURN_LIFETIME_MILLISECONDS) return null;
    return workOf(edge.seenOf(backend), now) > 0 ? `backend ${other} was idle` : null;
  },
];

function untriedOf(edge: EdgeView, { attempts }: RequestFacts): number[] {
  return [...edge.listed].filter((index) => attempts.every((attempt) => attempt.backend !== index));
}

/** Attempts that cost an upload or a render, or were not the first at their backend. */
function costlyOf(attempts: readonly AttemptFacts[]): readonly AttemptFacts[] {
  return attempts.filter(({ backend, end, isBegun }, place) => {
    const isFirst = attempts.findIndex((other) => other.backend === backend) === place;
    return !isFirst || !(end === "full" || (end === "unanswered" && !isBegun));
  });
}

/** The lower, the better. */
function standing(seen: Seen, now: number): number {
  if (!seen.isTrusted) return seen.isLost ? 3 : 2;
  return isStopping(seen, now) ? 1 : 0;
}

/** Whether it has said so of late. */
function isStopping({ isDraining, toldAt }: Seen, now: number): boolean {
  return isDraining && now - toldAt < DRAINING_MILLISECONDS;
}

/** The renders that an edge knows to be there. */
function workOf({ open, reported, begunSince, toldAt }: Seen, now: number): number {
  return Math.max(open, now - toldAt <= LOAD_LIFETIME_MILLISECONDS ? reported + begunSince : 0);
}

// When a request is forwarded, and the probes that are due have been sent.

export const OF_A_FORWARDING: readonly ((edge: EdgeView, request: RequestFacts, world: WorldView) => Finding)[] = [
  /**
   * A backend that failed is probed until it answers, after pauses of three seconds at most. A request has one place
   * for that, so if several are due, it probes one of them.
   */
  function failingBackendsAreProbed({ seen, listed }, { waitingProbes }, { time: { now } }) {
    if (listed.size < 2 || waitingProbes > 0) return null;
    for (const [index, { isTrusted, isLost, failedProbes, failedAt, probedAt }] of seen.entries()) {
      if (isTrusted || !listed.has(index)) continue;
      const pause = Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * 2 ** (failedProbes - 1));
      // One that has only answered that it is full may have a pause to end.
      const due = failedAt + (isLost ? pause : LONGEST_PAUSE_MILLISECONDS);
      const since = isLost ? failedAt : now - LONGEST_PAUSE_MILLISECONDS;
      if (now >= due && (probedAt.at(-1) ?? 0) <= since) return `backend ${index} was due at ${due}`;
    }
    return null;
  },

  /** A backend that is about to stop is probed likewise, so that its successor is soon known. */
  function stoppingBackendsAreProbed({ seen, listed }, { waitingProbes }, { time: { now } }) {
    if (listed.size < 2 || waitingProbes > 0) return null;
    for (const [index, one] of seen.entries()) {
      if (!listed.has(index) || !one.isTrusted || !isStopping(one, now)) continue;
      const since = Math.max(one.toldAt, now - UNANSWERED_PROBE_GAP_MILLISECONDS);
      const due = one.toldAt + DRAINING_PROBE_GAP_MILLISECONDS;
      if (now >= due && (one.probedAt.at(-1) ?? 0) <= since) return `backend ${index} was due at ${due}`;
    }
    return null;
  },
];

// When a fetch for a request begins.

export const OF_A_FETCH: readonly ((request: RequestFacts, world: WorldView) => Finding)[] = [
  /** Cloudflare queues the seventh fetch that waits for an answer, so a render and what is asked beside it are three. */
  function fewFetchesWait({ waitingFetches }) {
    return waitingFetches > MAX_WAITING_FETCHES ? `${waitingFetches} at once` : null;
  },

  /** Cloudflare's Free plan refuses the fifty-first fetch of a request, so twenty backends may be named there. */
  function fewFetches({ fetches }, { backends }) {
    return fetches > 2 * backends.length + MAX_FETCHES_BESIDE ? `${fetches} for ${backends.length} backends` : null;
  },
];

// When a probe is sent.

export const OF_A_PROBE: readonly ((edge: EdgeView, backend: number, world: WorldView) => Finding)[] = [
  /** Only backends where something failed, that are about to stop, or that are silent, are probed. */
  function noNeedlessProbes(edge, backend, { requests, time }) {
    const seen = edge.seenOf(backend);
    if (!seen.isTrusted || isStopping(seen, time.now)) return null;
    const since = time.now - SILENCE_MILLISECONDS;
    const isSilent = requests.some(({ attempts }) =>
      attempts.some(
        (attempt) =>
          attempt.edge === edge.index &&
          attempt.backend === backend &&
          attempt.beganAt <= since &&
          (attempt.end === null || attempt.end === "gone"),
      ),
    );
    return isSilent ? null : `backend ${backend} answers`;
  },

  /** A backend where probes fail is left alone for the pause, which begins when the last of them has failed. */
  function pausesAreKept(edge, backend, { time }) {
    const { isLost, failedProbes, failedAt, answeredAt } = edge.seenOf(backend);
    if (!isLost || answeredAt > failedAt) return null;
    const pause = Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * 2 ** (failedProbes - 1));
    return time.now < failedAt + pause - ROUNDING_MILLISECONDS ? `${time.now - failedAt} of ${pause} ms` : null;
  },

  /** A backend gets few probes, however many requests find it failing. */
  function probesAreFew(edge, backend, { time }) {
    const { probedAt } = edge.seenOf(backend);
    const count = probedAt.filter((at) => time.now - at < 1000).length;
    return count >= MAX_PROBES_PER_SECOND ? `${count} at backend ${backend} within a second` : null;
  },
];

// When an edge takes a backend out of use.

export const OF_A_LOSS: readonly ((edge: EdgeView, backend: number, probedAt: number, world: WorldView) => Finding)[] =
  [
    /** Whatever callers send, a backend that was healthy throughout a probe does not go out of use. */
    function onlyBackendsThatFailGoOutOfUse(edge, backend, probedAt, { disturbances, time }) {
      return disturbances.isClear(edge.index, backend, probedAt, time.now) ? `backend ${backend} was healthy` : null;
    },
  ];

// When another request takes the memory of a body.

export const OF_A_TAKEN_BODY: readonly ((request: RequestFacts) => Finding)[] = [
  /** The memory of a body goes to another request only when a backend has the whole body. */
  function noBodyIsTakenBeforeItIsSent({ attempts }) {
    const last = attempts.at(-1);
    if (last === undefined) return "no origin has it";
    return last.end === null && !last.isSent ? `backend ${last.backend} does not have it` : null;
  },
];

// When an edge gives up an attempt that has no answer yet.

export const OF_A_GIVEN_UP_ATTEMPT: readonly ((
  request: RequestFacts,
  attempt: AttemptFacts,
  world: WorldView,
) => Finding)[] = [
  /** What can be sent to no other backend, because its body is gone, is waited for as long as the backend was told. */
  function aRenderWithoutBodyIsWaitedFor(
    { isBodyTaken, isGone, planned },
    { sentAt, timeBudgetMilliseconds },
    { time },
  ) {
    const until = sentAt + timeBudgetMilliseconds + longestTransitMilliseconds(planned.bytes);
    const isEarly = time.now < until - ROUNDING_MILLISECONDS;
    return isBodyTaken && !isGone && isEarly ? `${Math.round(until - time.now)} ms too early` : null;
  },
];

// When an edge refuses a body for lack of memory.

export const OF_A_REFUSED_BODY: readonly ((
  edge: EdgeView,
  request: RequestFacts,
  bytes: number,
  world: WorldView,
) => Finding)[] = [
  /** No body is refused that would fit in beside those that no backend has. */
  function noMemoryIsRefusedThatIsFree({ requests }, request, bytes, { settings }) {
    const { edgeMemoryBytes, largestBodyBytes } = settings;
    const needed = requests.filter((other) => other !== request && other.attempts.at(-1)?.isSent !== true);
    const sum = (of: readonly RequestFacts[]) => of.reduce((sum, { heldBytes }) => sum + heldBytes, bytes);
    const all = sum(needed);
    const own = sum(needed.filter(({ planned }) => planned.caller === request.planned.caller));
    const share = (bodies: number, fraction: number) =>
      Math.max(edgeMemoryBytes - bodies * largestBodyBytes, Math.floor(edgeMemoryBytes * fraction));
    const isRefused = all > share(1, MIN_FRACTION_FOR_OTHERS) || own > share(2, MIN_FRACTION_FOR_OTHERS_OF_OWNER);
    return isRefused ? null : `${bytes} bytes beside ${all - bytes}, of ${edgeMemoryBytes}`;
  },
];

// At the end, of every request.

export const OF_A_REQUEST: readonly ((request: RequestFacts, world: WorldView) => Finding)[] = [
  /** Every request gets exactly one answer, unless its client has left: then none. */
  function exactlyOneAnswer({ answers, isGone }) {
    const expected = isGone ? 0 : 1;
    return answers.length === expected ? null : `${answers.length} answers`;
  },

  /** No answer begins later than the time budget of the edge, and a margin for timers that fire late. */
  function answeredInTime({ answers: [answer], attempts, forwardedAt, deadline, planned }) {
    if (answer === undefined || forwardedAt === null) return null;
    const last = attempts.at(-1);
    const uploadEnd = last?.isBegun === true && !last.isSent ? last.beganAt + MAX_UPLOAD_MILLISECONDS : 0;
    const transit = longestTransitMilliseconds(planned.bytes);
    const late = answer.at - Math.max(deadline + transit, uploadEnd);
    return late > ANSWER_MARGIN_MILLISECONDS ? `${late} ms after the deadline` : null;
  },

  /** A file or a problem of a render comes from a process that has really completed this render. */
  function whatIsAnsweredWasRendered({ answers: [answer] }) {
    if (answer === undefined || answer.status === BUSY || answer.status === BROKEN) return null;
    return answer.isRendered ? null : `${answer.status} without a render`;
  },

  /** An answer that tells the client to come back says when the first may have room: after a second or more. */
  function retryAfterIsTheShortest({ answers: [answer], attempts, isWithoutMemory }) {
    if (answer?.status !== BUSY) return null;
    const told = Math.min(...attempts.map(({ retryAfterSeconds }) => retryAfterSeconds));
    const seconds = answer.retryAfterSeconds ?? 0;
    const isRight = seconds === (isWithoutMemory ? NO_MEMORY_RETRY_SECONDS : told) && seconds >= 1;
    return isRight ? null : `Retry-After ${seconds}, the backends say ${told}`;
  },

  /** A backend is told how long the edge waits: until the end of the time budget, or of the backend's own deadlines. */
  function backendsAreToldWhatIsLeft({ attempts }, { settings }) {
    for (const { timeBudgetMilliseconds: told, remainingMilliseconds } of attempts) {
      const left = Math.min(remainingMilliseconds, longestAnswerMilliseconds(settings));
      if (Math.abs(told - left) > ROUNDING_MILLISECONDS) return `told ${told} ms, ${left} are left`;
    }
    return null;
  },

  /** The body and what the client does not get are dropped, and nothing is watched any longer. */
  function nothingIsLeftAfterTheAnswer({ answers, attempts, lateTimers, forwardedAt, isBodyFree }) {
    if (answers.length === 0) return null;
    if (forwardedAt !== null && !isBodyFree) return "the body is kept";
    const kept = attempts.filter(
      ({ end, isDiscarded }) => !isDiscarded && (end === "full" || end === "draining" || end === "refused"),
    );
    return kept.length > 0 || lateTimers > 0 ? `${kept.length} answers kept, ${lateTimers} timers` : null;
  },

  function fewBackendsAreBroughtDown({ broughtDown }) {
    return broughtDown > MAX_BROUGHT_DOWN ? `${broughtDown} backends` : null;
  },

  /** 429 is answered only if a backend or the memory of the edge was full. */
  function busyOnlyWhenFull({ answers: [answer], attempts, isWithoutMemory }) {
    if (answer?.status !== BUSY || isWithoutMemory) return null;
    return attempts.some(({ end }) => end === "full") ? null : "no origin was full";
  },

  function brokenOnlyWhenNobodyIsFull({ answers: [answer], attempts }) {
    return answer?.status === BROKEN && attempts.some(({ end }) => end === "full") ? "an origin was full" : null;
  },

  /**
   * 503 is answered only after a fault: something disturbed a backend during the request, or the request itself is at
   * fault.
   */
  function brokenOnlyAfterAFault({ answers: [answer], planned, forwardedAt }, { backends, disturbances }) {
    if (answer?.status !== BROKEN || isAtFault(planned) || forwardedAt === null) return null;
    const isClear = backends.every(({ index }) => disturbances.isClear(planned.edge, index, forwardedAt, answer.at));
    return isClear ? "no fault" : null;
  },

  /**
   * If a backend could serve all the time, the request is answered by a render. Else
   * - that backend was full, or
   * - two others were lost while they had the request, or
   * - four attempts had cost something, or
   * - after four attempts, it had been full a moment ago or had renders, or
   * - its body had been given up for another request, or
   * - faults of others had used up so much of the time budget that a render might not fit in, or
   * - it is poison, or every backend refuses it.
   */
  function servedIfABackendIsHealthy(request, world) {
    const { answers, attempts, forwardedAt, deadline, isBodyTaken, planned } = request;
    const [answer] = answers;
    if (answer === undefined || answer.isRendered || forwardedAt === null || isAtFault(planned)) return null;
    const lost = attempts.filter(({ end, isSent }) => end === "unanswered" && isSent).length;
    const isTooLate = deadline - answer.at < TOO_LATE_MILLISECONDS;
    for (const { index } of world.backends) {
      if (world.settings.full.includes(index)) continue;
      if (!world.disturbances.isClear(planned.edge, index, forwardedAt, answer.at)) continue;
      const own = attempts.filter(({ backend }) => backend === index);
      const isOver = lost >= MAX_BROUGHT_DOWN || costlyOf(attempts).length >= MAX_ATTEMPTS;
      const wasLeftOut = attempts.length >= MAX_ATTEMPTS && request.wereBusy.has(index);
      if (own.length === 0 && (isOver || wasLeftOut || isBodyTaken || isTooLate)) continue;
      if (own.length > 0 && own.every((attempt) => isExcused(attempt, world))) continue;
      return `backend ${index} was healthy; ${answer.status} after ${attempts.map(describeAttempt).join(", ") || "nothing"}`;
    }
    return null;
  },

  /**
   * An attempt at a backend that takes renders and answers none ends within some seconds, if another one was well for a
   * minute and has not been tried. A request that is poison, or that all refuse, makes backends suspect.
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
          !tried.includes(index) && disturbances.isClear(edge, index, beganAt - HEALTHY_MILLISECONDS, endedAt),
      );
      if (other !== undefined) return `${Math.round(endedAt - beganAt)} ms at backend ${backend}`;
    }
    return null;
  },

  /** When one of several backends is killed or turns grey, or all are updated one after another, no render is lost. */
  function plannedFaultsLoseNothing({ answers: [answer], attempts, planned }, { schedule, settings }) {
    if (!["one killed", "one grey", "rolling update"].includes(schedule.scenario)) return null;
    if (answer?.status !== BROKEN || isAtFault(planned)) return null;
    // Too short to find out that a backend is grey, which still answers the renders that it had before.
    const noticedAfter = MAX_SILENCE_MILLISECONDS + settings.renderTimeoutSeconds * 1000;
    if (schedule.scenario === "one grey" && settings.backendTimeoutSeconds * 1000 < noticedAfter) return null;
    const needed = neededMilliseconds(settings);
    const wasTimeUsed = attempts.some((attempt) => attempt.remainingMilliseconds < needed);
    return wasTimeUsed ? null : attempts.map(describeAttempt).join(", ");
  },
];

// When all is over.

export const AT_THE_END: readonly ((world: WorldView) => Finding)[] = [
  /** No slot, place in a queue, request or byte of memory is left at a backend. */
  function nothingIsLeftAtABackend({ backends, settings }) {
    for (const { index, process } of backends) {
      if (settings.absent.includes(index)) continue;
      if (process === null) return `backend ${index} did not come back`;
      const { queue, underWay, memory } = process;
      const left = [queue.running, queue.waiting, underWay, memory.reservedBytes, memory.holders];
      if (left.some((count) => count !== 0)) return `backend ${index} has ${left.join(", ")} left`;
    }
    return null;
  },

  /** No memory, upload, render or attempt is left, or after their time if clients left without the edge's notice. */
  function nothingIsLeftAtAnEdge({ edges, requests, time, isPastAllLifetimes }) {
    for (const { index, memory, uploads, renders, choice } of edges) {
      const hasUnnoticed = requests.some(
        ({ planned, isGone }) => planned.edge === index && isGone && !planned.isLeavingNoticed,
      );
      if (hasUnnoticed && !isPastAllLifetimes) continue;
      const bodies = [memory.reservedBytes, memory.reservationCount];
      const left = [...bodies, uploads.held, renders.held, choice.countUnderWay(time.now)];
      if (left.some((count) => count !== 0)) return `edge ${index} has ${left.join(", ")} left`;
    }
    return null;
  },
];

/** Whether no backend can render it. */
function isAtFault({ poison, refusal }: PlannedRequest): boolean {
  return poison !== null || refusal !== null;
}

function isExcused({ end, remainingMilliseconds }: AttemptFacts, { settings }: WorldView): boolean {
  if (end === "full") return true;
  return end === "unanswered" && remainingMilliseconds < neededMilliseconds(settings);
}

/** What the longest render needs of the time budget. */
function neededMilliseconds({ queueDeadlineSeconds, renderTimeoutSeconds }: SimulatedSettings): number {
  return (queueDeadlineSeconds + renderTimeoutSeconds) * 1000 + TRANSFER_MILLISECONDS;
}

function describeAttempt({ backend, end, isSent, remainingMilliseconds }: AttemptFacts): string {
  return `backend ${backend} with ${Math.round(remainingMilliseconds)} ms left: ${end}${isSent ? ", sent" : ""}`;
}
