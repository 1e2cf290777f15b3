/** What the parts and the invariants see of each other, without import cycles. The comments are at the classes. */
import type { ByteBudget } from "../../backend/admission/byte-budget.ts";
import type { RenderQueue } from "../../backend/admission/render-queue.ts";
import type { ResponseHead } from "../../edge/backends/backend-answer.ts";
import type { BackendChoice } from "../../edge/backends/backend-choice.ts";
import type { BodyMemory } from "../../edge/body/body-memory.ts";
import type { FairLimit } from "../../edge/body/fair-limit.ts";
import type { BackendLoad } from "../../protocol/headers.ts";
import type { CallerFacts, Disturbances, RequestFacts, Seen } from "./facts.ts";
import type { Random } from "./random.ts";
import type { LinkFaultKind, Schedule, SimulatedSettings } from "./schedule.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface WorldView {
  readonly schedule: Schedule;
  readonly settings: SimulatedSettings;
  readonly time: VirtualTime;
  readonly random: Random;
  readonly disturbances: Disturbances;
  readonly backends: readonly BackendView[];
  readonly edges: readonly EdgeView[];
  readonly requests: readonly RequestFacts[];
  readonly isPastAllLifetimes: boolean;
  backendAt(index: number): BackendView;
  linkAt(edge: number, backend: number): LinkView;
  trace(line: () => string): void;
  check<Invariant extends { readonly name: string }>(
    invariants: readonly Invariant[],
    where: string,
    findingOf: (invariant: Invariant) => string | null,
  ): void;
}

export interface EdgeView {
  readonly index: number;
  readonly memory: BodyMemory;
  readonly uploads: FairLimit;
  readonly renders: FairLimit;
  readonly choice: BackendChoice;
  readonly seen: readonly Seen[];
  readonly listed: ReadonlySet<number>;
  readonly requests: readonly RequestFacts[];
  seenOf(backend: number): Seen;
}

export interface BackendView {
  readonly index: number;
  readonly process: ProcessView | null;
  readonly offUntil: number;
  readonly greySince: number;
  readonly greyUntil: number;
}

export interface ProcessView {
  readonly queue: RenderQueue;
  readonly memory: ByteBudget;
  readonly underWay: number;
  readonly callers: ReadonlyMap<string, CallerFacts>;
  readonly probing: number;
  readonly admitted: readonly { readonly caller: CallerFacts; readonly running: number; readonly latestTurn: number }[];
  run(action: () => void): void;
  connect(exchange: ExchangeView): void;
  receive(exchange: ExchangeView): void;
  disconnect(exchange: ExchangeView): void;
  readonly load: BackendLoad;
  probe(answer: (answer: SimulatedAnswer) => void): void;
}

export interface LinkView {
  readonly backend: number;
  readonly until: Record<Exclude<LinkFaultKind, "reset">, number>;
  readonly exchanges: Set<ExchangeView>;
  carry(arrive: () => void): void;
}

export interface ExchangeView {
  readonly request: RequestFacts;
  readonly timeBudgetMilliseconds: number;
  respond(answer: SimulatedAnswer): void;
  break(cause: string, isProcessTold: boolean): void;
}

/** An answer on its way to an edge, which reads only its head. */
export interface SimulatedAnswer extends ResponseHead {
  /** Null if it does not come from a backend. */
  readonly load: BackendLoad | null;
  readonly isRendered: boolean;
}
