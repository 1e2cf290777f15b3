/** One schedule carried out: edges, backends and the network between them, in virtual time. */
import { BodyCollector } from "../../protocol/body-collector.ts";
import { Disturbances, RequestFacts } from "./facts.ts";
import { AT_THE_END, OF_A_PROCESS, OF_A_REQUEST, OF_AN_EDGE } from "./invariants.ts";
import { Link } from "./network.ts";
import type { WorldView } from "./parts.ts";
import { Random } from "./random.ts";
import type { BackendFaultKind, LinkFaultKind, PlannedFault, Schedule, SimulatedSettings } from "./schedule.ts";
import { SimulatedBackend } from "./simulated-backend.ts";
import { SimulatedEdge } from "./simulated-edge.ts";
import { VirtualTime } from "./virtual-time.ts";

/** The stream of the seed's random numbers from which the run takes them; the schedule takes the first. */
const RUN_STREAM = 1;
/** Of six thousand schedules, none had seven thousand events. One that has more than this never ends. */
const MAX_EVENTS = 100_000;
/** Longer than any reservation or attempt lasts. */
const ALL_LIFETIMES_MILLISECONDS = 3_600_000;

interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

/** Runs a schedule until nothing is left to happen, or an invariant is broken. `trace` gets what happens, by lines. */
export async function runSchedule(schedule: Schedule, trace?: (line: string) => void): Promise<Violation | null> {
  const world = new World(schedule, trace);
  await world.run();
  return world.violation;
}

class World implements WorldView {
  readonly schedule: Schedule;
  readonly settings: SimulatedSettings;
  readonly time = new VirtualTime();
  readonly random: Random;
  readonly disturbances = new Disturbances();
  readonly backends: readonly SimulatedBackend[];
  readonly edges: readonly SimulatedEdge[];
  readonly requests: readonly RequestFacts[];
  violation: Violation | null = null;
  /** Whether everything that edges only remember for a time must be forgotten. */
  isPastAllLifetimes = false;
  readonly #links: readonly (readonly Link[])[];
  readonly #trace: ((line: string) => void) | undefined;
  readonly #began: number;
  /** Backends that are not listed now. */
  readonly #unlisted = new Set<number>();

  constructor(schedule: Schedule, trace?: (line: string) => void) {
    this.schedule = schedule;
    this.settings = schedule.settings;
    this.random = new Random(schedule.seed, RUN_STREAM);
    this.#trace = trace;
    this.#began = this.time.now;
    const { edges, backends } = this.settings;
    this.backends = Array.from({ length: backends }, (_, index) => new SimulatedBackend(this, index));
    for (const index of schedule.settings.absent) this.disturbances.begin(this.time.now, index);
    this.edges = Array.from({ length: edges }, (_, index) => new SimulatedEdge(this, index));
    this.#links = this.edges.map((edge) => this.backends.map((backend) => new Link(this, edge.index, backend.index)));
    this.requests = schedule.requests.map((planned) => new RequestFacts(planned));
  }

  async run(): Promise<void> {
    for (const request of this.requests) {
      const edge = this.edges[request.planned.edge];
      if (edge !== undefined) this.time.after(request.planned.at, () => edge.serve(request));
    }
    for (const fault of this.schedule.faults) this.time.after(fault.at, () => this.#inject(fault));
    const events = await this.time.run(() => this.#observe(), MAX_EVENTS);
    if (this.violation !== null) return;
    if (events >= MAX_EVENTS) this.violate("everything-ends", `${events} events`);
    for (const request of this.requests) {
      this.check(OF_A_REQUEST, `request ${request.planned.id}`, (invariant) => invariant(request, this));
    }
    this.#checkEnd();
    await this.#passAllLifetimes();
    this.#checkEnd();
  }

  trace(line: () => string): void {
    if (this.#trace === undefined) return;
    const milliseconds = (this.time.now - this.#began).toFixed(1).padStart(10);
    this.#trace(`${milliseconds} ms  ${line()}`);
  }

  violate(invariant: string, detail: string): void {
    if (this.violation !== null) return;
    this.violation = { invariant, detail };
    this.trace(() => `BROKEN: ${invariant}: ${detail}`);
  }

  /** Checks the invariants of something that happens. Only the first one that is broken counts. */
  readonly check: WorldView["check"] = (invariants, where, findingOf) => {
    for (const invariant of invariants) {
      const finding = findingOf(invariant);
      if (finding !== null) this.violate(invariant.name, `${where}: ${finding}`);
    }
  };

  backendAt(index: number): SimulatedBackend {
    const backend = this.backends[index];
    if (backend === undefined) throw new RangeError(`there is no backend ${index}`);
    return backend;
  }

  linkAt(edge: number, backend: number): Link {
    const link = this.#links[edge]?.[backend];
    if (link === undefined) throw new RangeError(`there is no way from edge ${edge} to backend ${backend}`);
    return link;
  }

  /** @returns whether to go on. */
  #observe(): boolean {
    for (const { index, process } of this.backends) {
      if (process?.hasChanged !== true) continue;
      this.check(OF_A_PROCESS, `backend ${index}`, (invariant) => invariant(process, this));
      process.admitted.length = 0;
      process.hasChanged = false;
    }
    for (const edge of this.edges) {
      if (!edge.hasChanged) continue;
      this.check(OF_AN_EDGE, `edge ${edge.index}`, (invariant) => invariant(edge, this));
      edge.hasChanged = false;
    }
    return this.violation === null;
  }

  #checkEnd(): void {
    this.check(AT_THE_END, "at the end", (invariant) => invariant(this));
  }

  /** What has expired is removed when the next request comes. */
  async #passAllLifetimes(): Promise<void> {
    this.time.after(ALL_LIFETIMES_MILLISECONDS, () => {
      for (const { memory, uploads, renders } of this.edges) {
        for (const limit of [uploads, renders]) limit.acquire("last")?.release();
        const reservation = memory.reserve("last", ALL_LIFETIMES_MILLISECONDS, new BodyCollector(0, 0));
        void reservation.growTo(1).then(() => reservation.release());
      }
    });
    await this.time.run(() => true, MAX_EVENTS);
    this.isPastAllLifetimes = true;
  }

  #inject(fault: PlannedFault): void {
    this.trace(() => `fault: ${JSON.stringify(fault)}`);
    if ("edge" in fault) this.#disturbLink(fault);
    else if ("backend" in fault) this.#disturbBackend(fault);
    else this.#update(0, fault.milliseconds);
  }

  #disturbBackend({ kind, backend: index, milliseconds }: Extract<PlannedFault, { kind: BackendFaultKind }>): void {
    const backend = this.backendAt(index);
    const { now } = this.time;
    switch (kind) {
      case "kill":
        backend.kill(milliseconds, "killed");
        break;
      case "power loss":
        backend.losePower(milliseconds);
        break;
      case "hang":
        backend.process?.hang(milliseconds);
        break;
      case "leave":
        this.#leave(index, milliseconds);
        break;
      case "drain":
        backend.update(milliseconds, () => {});
        break;
      case "grey":
        backend.greySince = now;
        backend.greyUntil = Math.max(backend.greyUntil, now + milliseconds);
        this.disturbances.begin(now, index)(now + milliseconds);
        break;
      case "sick":
        backend.sickUntil = Math.max(backend.sickUntil, now + milliseconds);
        this.disturbances.begin(now, index)(now + milliseconds);
        break;
    }
  }

  /** It is not in the list of the backends for a time. */
  #leave(index: number, milliseconds: number): void {
    const { now } = this.time;
    if (this.#unlisted.has(index)) return;
    this.#unlisted.add(index);
    const end = this.disturbances.begin(now, index);
    for (const edge of this.edges) edge.keep(this.#listed());
    this.time.after(milliseconds, () => {
      this.#unlisted.delete(index);
      end(this.time.now);
      for (const edge of this.edges) edge.keep(this.#listed());
    });
  }

  #listed(): number[] {
    return [...this.backends.keys()].filter((index) => !this.#unlisted.has(index));
  }

  #disturbLink({ kind, edge, backend, milliseconds }: Extract<PlannedFault, { kind: LinkFaultKind }>): void {
    const link = this.linkAt(edge, backend);
    const { now } = this.time;
    const until = now + milliseconds;
    this.disturbances.begin(now, backend, edge)(kind === "reset" ? now : until);
    if (kind === "reset") link.reset();
    else link.until[kind] = Math.max(link.until[kind], until);
  }

  /** One backend after another, the next when the one before is ready. */
  #update(index: number, bootMilliseconds: number): void {
    this.backends[index]?.update(bootMilliseconds, () => this.#update(index + 1, bootMilliseconds));
  }
}
