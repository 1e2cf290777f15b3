/**
 * Which backends there are: those listed, and those that DNS names, which is asked again while requests come. An answer
 * without a usable backend changes nothing: to try backends that have gone is better than to have none. Times are in
 * milliseconds.
 */
import type { Clock } from "../clock.ts";
import type { Backend } from "../platform/platform.ts";
import {
  type BackendAddress,
  type BackendSources,
  MAX_BACKENDS,
  type ServiceName,
  urlOfRecord,
} from "./backend-address.ts";
import type { SrvAnswer, SrvRecord } from "./dns-names.ts";

/** How long an answer is used. For its time to live, 30 s in many clusters, a new backend would stay idle. */
const RENEWAL_MILLISECONDS = 2000;
const RETRY_MILLISECONDS = 1000;
/** How long a request waits for the first backend. A name server that restarts is back by then. */
const FIRST_LOOKUP_MILLISECONDS = 3000;
/** How often it looks meanwhile whether a lookup is due. */
const LOOK_MILLISECONDS = 250;

interface ListChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly beyondLimit: number;
}

interface PoolParts {
  readonly clock: Pick<Clock, "now" | "wait">;
  open(address: BackendAddress): Backend;
  /** Never rejects. */
  lookUp(service: string): Promise<SrvAnswer>;
  /** Called with all backends when there are others than before. */
  onChange(backends: readonly Backend[]): void;
  /** @param news the change, or why the lookup failed unless the one before failed for the same reason */
  report(service: string, news: ListChange | string): void;
}

/** What is known of a name whose SRV records say where backends are. */
interface ServiceState {
  readonly name: ServiceName;
  found: readonly FoundBackend[];
  dueAt: number;
  /** The lookup under way. */
  lookup: Promise<void> | null;
  fault: string | null;
  beyondLimit: number;
}

interface FoundBackend {
  readonly url: URL;
  /** Its names, from the shortest to the one that no other backend can have. */
  readonly names: readonly [string, string, string];
}

/** Opens the backends of the list, and makes its lookups while requests come. */
export class BackendPool {
  readonly #fixed: readonly BackendAddress[];
  readonly #services: readonly ServiceState[];
  readonly #parts: PoolParts;
  /** By name and URL. One that stays is the same object, by which others know it. */
  #open: ReadonlyMap<string, Backend> = new Map();

  constructor({ addresses, services }: BackendSources, parts: PoolParts) {
    this.#fixed = addresses;
    this.#services = services.map((name) => {
      return { name, found: [], dueAt: Number.NEGATIVE_INFINITY, lookup: null, fault: null, beyondLimit: 0 };
    });
    this.#parts = parts;
    this.#reopen();
  }

  get backends(): readonly Backend[] {
    return [...this.#open.values()];
  }

  /** Begins the lookups that are due. @returns those that are under way */
  renew(): readonly Promise<void>[] {
    const now = this.#parts.clock.now();
    return this.#services.flatMap((state) => {
      if (state.lookup === null && now >= state.dueAt) {
        state.lookup = this.#lookUp(state).finally(() => {
          state.lookup = null;
        });
      }
      return state.lookup === null ? [] : [state.lookup];
    });
  }

  /** Renews the list, and waits if no backend is known. */
  async ready(): Promise<void> {
    const { clock } = this.#parts;
    let underWay = this.renew();
    const until = clock.now() + FIRST_LOOKUP_MILLISECONDS;
    while (this.#services.length > 0 && this.#open.size === 0 && clock.now() < until) {
      await Promise.race([...underWay, clock.wait(LOOK_MILLISECONDS)]);
      underWay = this.renew();
    }
  }

  async #lookUp(state: ServiceState): Promise<void> {
    const { clock, lookUp, onChange, report } = this.#parts;
    const { service } = state.name;
    const answer = await lookUp(service);
    const fault = typeof answer === "string" ? answer : answer.length === 0 ? "it names no backend" : null;
    const isNews = fault !== state.fault;
    state.fault = fault;
    state.dueAt = clock.now() + (fault === null ? RENEWAL_MILLISECONDS : RETRY_MILLISECONDS);
    if (fault !== null && isNews) report(service, fault);
    if (fault !== null || typeof answer === "string") return;
    const { beyondLimit } = state;
    this.#use(state, answer);
    const change = this.#reopen();
    const isOther = change.added.length + change.removed.length > 0;
    if (isOther) onChange(this.backends);
    if (isOther || state.beyondLimit !== beyondLimit) report(service, { ...change, beyondLimit: state.beyondLimit });
  }

  /** Those that are known already go first, so that the limit replaces none of them. */
  #use(state: ServiceState, records: readonly SrvRecord[]): void {
    const known = new Set(state.found.map(({ url }) => url.href));
    const inOrder = keepOnePerUrl(records.map((record) => toFoundBackend(state.name, record))).sort((a, b) =>
      a.url.href < b.url.href ? -1 : 1,
    );
    const staying = inOrder.filter(({ url }) => known.has(url.href));
    const coming = inOrder.filter(({ url }) => !known.has(url.href));
    const others = this.#services.filter((other) => other !== state);
    const room = MAX_BACKENDS - this.#fixed.length - others.reduce((sum, { found }) => sum + found.length, 0);
    state.found = [...staying, ...coming].slice(0, Math.max(0, room));
    state.beyondLimit = inOrder.length - state.found.length;
  }

  #reopen(): Pick<ListChange, "added" | "removed"> {
    const before = this.#open;
    const found = keepOnePerUrl(this.#services.flatMap((state) => state.found));
    const addresses = [...this.#fixed, ...nameAll(found, this.#fixed)];
    this.#open = new Map(
      addresses.map((address) => {
        const key = keyOf(address);
        return [key, before.get(key) ?? this.#parts.open(address)];
      }),
    );
    return { added: namesOfOthers(this.#open, before), removed: namesOfOthers(before, this.#open) };
  }
}

/** The names of those of `some` that are not in `others`. */
function namesOfOthers(some: ReadonlyMap<string, Backend>, others: ReadonlyMap<string, Backend>): readonly string[] {
  return [...some].flatMap(([key, { name }]) => (others.has(key) ? [] : [name]));
}

function toFoundBackend(service: ServiceName, record: SrvRecord): FoundBackend {
  const [label = record.host] = record.host.split(".");
  const name = service.prefix === null ? label : `${service.prefix}-${label}`;
  const url = urlOfRecord(service, record);
  return { url, names: [name, `${name}-${record.port}`, url.host] };
}

function keepOnePerUrl(found: readonly FoundBackend[]): FoundBackend[] {
  return [...new Map(found.map((one) => [one.url.href, one])).values()];
}

/** Each gets the first of its names that no other backend has: it depends on the list alone, so all edges agree. */
function nameAll(found: readonly FoundBackend[], fixed: readonly BackendAddress[]): BackendAddress[] {
  const taken = new Map(fixed.map(({ name }) => [name, 1]));
  for (const name of found.flatMap(({ names }) => names)) taken.set(name, (taken.get(name) ?? 0) + 1);
  return found.map(({ url, names }) => ({
    kind: "url",
    name: names.find((name) => taken.get(name) === 1) ?? url.host,
    url,
    isFromDns: true,
  }));
}

function keyOf(address: BackendAddress): string {
  return address.kind === "url" ? `${address.name} ${address.url.href}` : address.name;
}
