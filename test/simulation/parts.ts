/**
 * What the parts of a simulation and the invariants see of each other. They import these types instead of each other's,
 * so that there are no import cycles.
 */
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
  /** Whether everything that edges only remember for a time must be forgotten. */
  readonly isPastAllLifetimes: boolean;
  backendAt(index: number): BackendView;
  linkAt(edge: number, backend: number): LinkView;
  trace(line: () => string): void;
  /** Checks the invariants of something that happens. Only the first one that is broken counts. */
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
  readonly choice: BackendChoice<number>;
  readonly seen: readonly Seen[];
  /** The backends that are listed now. */
  readonly listed: ReadonlySet<number>;
  readonly requests: readonly RequestFacts[];
  seenOf(backend: number): Seen;
}

export interface BackendView {
  readonly index: number;
  readonly process: ProcessView | null;
  /** The host is without power until then. */
  readonly offUntil: number;
  /** Between these times it takes renders and never answers them. */
  readonly greySince: number;
  readonly greyUntil: number;
}

export interface ProcessView {
  readonly queue: RenderQueue;
  readonly memory: ByteBudget;
  /** Requests that have begun and whose answers are not completely delivered. */
  readonly underWay: number;
  readonly callers: ReadonlyMap<string, CallerFacts>;
  /** Probes that run, as the renders themselves count them. */
  readonly probing: number;
  /** Who got a slot since the invariants were last checked, unless it is only lent, and what it had before. */
  readonly admitted: readonly {
    readonly caller: CallerFacts;
    readonly running: number;
    readonly latestTurn: number;
  }[];
  /** Does something in the process: later if it hangs, never if it has ended. */
  run(action: () => void): void;
  connect(exchange: ExchangeView): void;
  /** The whole body is there. */
  receive(exchange: ExchangeView): void;
  disconnect(exchange: ExchangeView): void;
  /** What it says of its load. */
  readonly load: BackendLoad;
  /** A render of the edge's own. It is not answered if it should not be. */
  probe(answer: (answer: SimulatedAnswer) => void): void;
}

export interface LinkView {
  readonly backend: number;
  /** The end of each fault. */
  readonly until: Record<Exclude<LinkFaultKind, "reset">, number>;
  readonly exchanges: Set<ExchangeView>;
  /** Calls back when a message has arrived on the other side. */
  carry(arrive: () => void): void;
}

export interface ExchangeView {
  readonly request: RequestFacts;
  readonly timeBudgetMilliseconds: number;
  /** The answer's beginning goes to the edge. */
  respond(answer: SimulatedAnswer): void;
  /** The connection breaks. */
  break(cause: string, isProcessTold: boolean): void;
}

/** An answer on its way to an edge, which reads only its head. */
export interface SimulatedAnswer extends ResponseHead {
  /** Null if it does not come from a backend. */
  readonly load: BackendLoad | null;
  /** Whether the process that answered has really completed this render. */
  readonly isRendered: boolean;
}
