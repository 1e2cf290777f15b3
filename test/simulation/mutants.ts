/**
 * Broken variants of the code under test, each with one plausible mistake. The simulation must find every one of them, which shows
 * that the invariants can be broken.
 */
import { type Admission, type Applicant, RenderQueue, type SlotWork } from "../../backend/admission/render-queue.ts";
import { type Attempt, type AttemptResult, BackendChoice, type Probe } from "../../edge/backends/backend-choice.ts";
import { type FailedAttempt, type NextStep, RenderAttempts } from "../../edge/backends/render-attempts.ts";
import { BodyMemory } from "../../edge/body/body-memory.ts";
import { type Cores, REAL_CORES } from "./cores.ts";

class ChoiceThatLeaksAttempts extends BackendChoice {
  override begin(origin: number, now: number): Attempt {
    return super.begin(origin, now, Number.POSITIVE_INFINITY);
  }

  override end(attempt: Attempt, now: number, result: AttemptResult): void {
    if (result.kind !== "abandoned") super.end(attempt, now, result);
  }
}

class ChoiceThatForgivesAtOnce extends BackendChoice {
  override end(attempt: Attempt, now: number, result: AttemptResult): void {
    super.end(attempt, now, result.kind === "failed" ? { kind: "answered", load: null } : result);
  }
}

class ChoiceThatNeverForgives extends BackendChoice {
  override takeDue(now: number): readonly Probe[] {
    return super.takeDue(now).filter(({ backend }) => !this.isOutOfUse(backend));
  }
}

class ChoiceThatTrustsTheSilent extends BackendChoice {
  readonly #failed = new Set<number>();

  override end(attempt: Attempt, now: number, result: AttemptResult): void {
    if (result.kind === "failed") this.#failed.add(attempt.backend);
    super.end(attempt, now, result);
  }

  override takeDue(now: number): readonly Probe[] {
    return super.takeDue(now).filter(({ backend }) => this.#failed.has(backend));
  }
}

/** A failed render counts as a failed probe. */
class ChoiceThatBelievesCallers extends BackendChoice {
  override end(attempt: Attempt, now: number, result: AttemptResult): void {
    super.end(attempt, now, result);
    if (result.kind !== "failed") return;
    for (const probe of this.takeDue(now)) this.probed(probe, now, result);
  }
}

class AttemptsThatNeverMoveOn extends RenderAttempts {
  override isHopeless(): boolean {
    return false;
  }
}

class AttemptsWithoutDeadline extends RenderAttempts {
  override next(_now: number): NextStep {
    return super.next(0);
  }
}

class AttemptsThatForgetLostBackends extends RenderAttempts {
  override fail(origin: number, failure: FailedAttempt): void {
    super.fail(origin, failure.kind === "lost" ? { kind: "unavailable", failure: "unavailable" } : failure);
  }
}

class AttemptsThatTakeFullForBroken extends RenderAttempts {
  override fail(origin: number, failure: FailedAttempt): void {
    super.fail(origin, failure.kind === "busy" ? { kind: "unavailable", failure: "unavailable" } : failure);
  }
}

class AttemptsThatTakeBrokenForFull extends RenderAttempts {
  override giveUp(): Extract<NextStep, { kind: "busy" | "failed" }> {
    return { kind: "busy", retryAfterSeconds: 1, cause: "backend_full" };
  }
}

class AttemptsWithoutRetry extends RenderAttempts {
  #hasTried = false;

  override next(now: number): NextStep {
    if (this.#hasTried) return this.giveUp();
    this.#hasTried = true;
    return super.next(now);
  }
}

class QueueThatKnowsNoCallers extends RenderQueue {
  override run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    return super.run({ ...applicant, caller: "anyone" }, work);
  }
}

class QueueThatIgnoresPatience extends RenderQueue {
  override run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    return super.run({ caller: applicant.caller, signal: applicant.signal }, work);
  }
}

class QueueThatIgnoresLeaving extends RenderQueue {
  override run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    return super.run({ ...applicant, signal: new AbortController().signal }, work);
  }
}

class QueueThatLendsNothing extends RenderQueue {
  override run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    return super.run(applicant, async (withdrawn) => (withdrawn === null ? work(null) : null));
  }
}

class QueueThatWithdrawsNothing extends RenderQueue {
  override run<Result>(applicant: Applicant, work: SlotWork<Result>): Promise<Admission<Result>> {
    return super.run(applicant, (withdrawn) => work(withdrawn === null ? null : new AbortController().signal));
  }
}

class AttemptsThatSayComeBackAtOnce extends RenderAttempts {
  override giveUp(): Extract<NextStep, { kind: "busy" | "failed" }> {
    const end = super.giveUp();
    return end.kind === "busy" ? { ...end, retryAfterSeconds: 0 } : end;
  }
}

class MemoryThatIsNeverFreed extends BodyMemory {
  override takeBack(): void {}
}

export interface Mutant {
  readonly mistake: string;
  /** The invariants that it may break first. */
  readonly invariants: readonly string[];
  readonly cores: Cores;
}

export const MUTANTS: readonly Mutant[] = [
  {
    mistake: "a choice that leaks attempts",
    invariants: ["nothingIsLeftAtAnEdge"],
    cores: withChoice((count) => new ChoiceThatLeaksAttempts(count)),
  },
  {
    mistake: "a choice that forgives failures at once",
    invariants: ["aFailingBackendIsEjected"],
    cores: withChoice((count) => new ChoiceThatForgivesAtOnce(count)),
  },
  {
    mistake: "a choice that never forgives",
    invariants: ["aRecoveredBackendGetsWork"],
    cores: withChoice((count) => new ChoiceThatNeverForgives(count)),
  },
  {
    mistake: "a choice that trusts an origin that is silent",
    invariants: ["aGreyBackendIsSoonGivenUp", "plannedFaultsLoseNothing", "servedIfABackendIsHealthy"],
    cores: withChoice((count) => new ChoiceThatTrustsTheSilent(count)),
  },
  {
    mistake: "a choice that takes an origin out of use because of a caller's render",
    invariants: ["onlyBackendsThatFailGoOutOfUse"],
    cores: withChoice((count) => new ChoiceThatBelievesCallers(count)),
  },
  {
    mistake: "attempts that wait for an origin that is out of use",
    invariants: ["aGreyBackendIsSoonGivenUp", "plannedFaultsLoseNothing", "servedIfABackendIsHealthy"],
    cores: withAttempts(AttemptsThatNeverMoveOn),
  },
  {
    mistake: "attempts without a deadline",
    invariants: ["noAttemptAfterTheDeadline", "aRecoveredBackendGetsWork", "answeredInTime"],
    cores: withAttempts(AttemptsWithoutDeadline),
  },
  {
    mistake: "attempts that forget lost origins",
    invariants: ["fewBackendsAreBroughtDown"],
    cores: withAttempts(AttemptsThatForgetLostBackends),
  },
  {
    mistake: "attempts that take full for broken",
    invariants: ["brokenOnlyWhenNobodyIsFull"],
    cores: withAttempts(AttemptsThatTakeFullForBroken),
  },
  {
    mistake: "attempts that take broken for full",
    invariants: ["busyOnlyWhenFull"],
    cores: withAttempts(AttemptsThatTakeBrokenForFull),
  },
  {
    mistake: "attempts that say to come back at once",
    invariants: ["retryAfterIsPositive"],
    cores: withAttempts(AttemptsThatSayComeBackAtOnce),
  },
  {
    mistake: "attempts without a retry",
    invariants: ["servedIfABackendIsHealthy"],
    cores: withAttempts(AttemptsWithoutRetry),
  },
  {
    mistake: "a queue that admits one too many",
    invariants: ["noMoreRendersThanSlots"],
    cores: { ...REAL_CORES, makeQueue: (options) => new RenderQueue({ ...options, slots: options.slots + 1 }) },
  },
  {
    mistake: "a queue that holds one too many",
    invariants: ["noMoreWaitingThanAllowed"],
    cores: {
      ...REAL_CORES,
      makeQueue: (options) => new RenderQueue({ ...options, maxWaiting: options.maxWaiting + 1 }),
    },
  },
  {
    mistake: "a queue that leaves slots idle",
    invariants: ["noSlotIdleWhileSomebodyWaits", "nobodyIsRefusedWhileASlotIsFree"],
    cores: {
      ...REAL_CORES,
      makeQueue: (options) => new RenderQueue({ ...options, slots: Math.ceil(options.slots / 2) }),
    },
  },
  {
    mistake: "a queue that knows no callers",
    invariants: ["shortRendersOfOthersGoFirst", "noCallerGetsAllSlotsWhileAnotherWaits"],
    cores: withQueue(QueueThatKnowsNoCallers),
  },
  {
    mistake: "a queue that ignores the patience of the edge",
    invariants: ["nobodyWaitsTooLong"],
    cores: withQueue(QueueThatIgnoresPatience),
  },
  {
    mistake: "a queue that ignores who has left",
    invariants: ["noSlotForTheGone"],
    cores: withQueue(QueueThatIgnoresLeaving),
  },
  {
    mistake: "a queue that lends nothing",
    invariants: ["nobodyIsRefusedWhileASlotIsFree", "fullOnlyWhenFull"],
    cores: withQueue(QueueThatLendsNothing),
  },
  {
    mistake: "a queue that withdraws nothing",
    invariants: ["lentSlotsAreWithdrawn"],
    cores: withQueue(QueueThatWithdrawsNothing),
  },
  {
    mistake: "memory that is never freed",
    invariants: ["nothingIsLeftAtAnEdge"],
    cores: {
      ...REAL_CORES,
      makeMemory: (largest, max, clock) => new MemoryThatIsNeverFreed(largest, max, clock),
    },
  },
];

function withChoice(makeChoice: Cores["makeChoice"]): Cores {
  return { ...REAL_CORES, makeChoice };
}

function withAttempts(Attempts: typeof RenderAttempts): Cores {
  return { ...REAL_CORES, makeAttempts: (choice, deadline, random) => new Attempts(choice, deadline, random) };
}

function withQueue(Queue: typeof RenderQueue): Cores {
  return { ...REAL_CORES, makeQueue: (options) => new Queue(options) };
}
