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
/** Another lookup begins after this time: workerd does not resume a request whose client has disconnected. */
const UNANSWERED_MILLISECONDS = 1000;

export interface Lookup {
  readonly service: ServiceName;
  readonly beganAt: number;
}

interface ListChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly beyondLimit: number;
}

class ServiceState {
  found: readonly FoundBackend[] = [];
  dueAt = Number.NEGATIVE_INFINITY;
  /** When the newest lookup began that has had a result. */
  answeredAt = Number.NEGATIVE_INFINITY;
  fault: string | null = null;
  beyondLimit = 0;
}

interface FoundBackend {
  readonly url: URL;
  /** Its names, from the shortest to the one that no other backend can have. */
  readonly names: readonly [string, string, string];
}

export class BackendList {
  readonly #fixed: readonly BackendAddress[];
  readonly #services: ReadonlyMap<ServiceName, ServiceState>;
  #addresses: readonly BackendAddress[];

  constructor({ addresses, services }: BackendSources) {
    this.#fixed = addresses;
    this.#addresses = addresses;
    this.#services = new Map(services.map((service) => [service, new ServiceState()]));
  }

  get serviceCount(): number {
    return this.#services.size;
  }

  /** The same object for a backend as long as it is listed. */
  get addresses(): readonly BackendAddress[] {
    return this.#addresses;
  }

  /** Hands out lookups that are to be made now, each once, the one that is due the longest first; `recordAnswer` must follow. */
  takeDue(now: number, count = Number.POSITIVE_INFINITY): readonly Lookup[] {
    return [...this.#services]
      .filter(([, state]) => now >= state.dueAt)
      .sort(([, left], [, right]) => Number(left.dueAt > right.dueAt) - Number(left.dueAt < right.dueAt))
      .slice(0, count)
      .map(([service, state]) => {
        state.dueAt = now + UNANSWERED_MILLISECONDS;
        return { service, beganAt: now };
      });
  }

  /** @returns the change; why the lookup failed, unless the one before failed for the same reason; null for no news */
  recordAnswer({ service, beganAt }: Lookup, now: number, answer: SrvAnswer): ListChange | string | null {
    const state = this.#services.get(service);
    // The answer to a later lookup is there already.
    if (state === undefined || beganAt < state.answeredAt) return null;
    state.answeredAt = beganAt;
    state.dueAt = now + (answer.kind === "records" ? RENEWAL_MILLISECONDS : RETRY_MILLISECONDS);
    const fault = answer.kind === "records" ? null : answer.kind === "none" ? "it names no backend" : answer.reason;
    const isNews = fault !== state.fault;
    state.fault = fault;
    if (answer.kind !== "records") return isNews ? fault : null;
    const { beyondLimit } = state;
    this.#use(service, state, answer.records);
    const change = this.#renew();
    const isSame = change.added.length + change.removed.length === 0 && state.beyondLimit === beyondLimit;
    return isSame ? null : { ...change, beyondLimit: state.beyondLimit };
  }

  /** Those that are known already go first, so that the limit replaces none of them. */
  #use(service: ServiceName, state: ServiceState, records: readonly SrvRecord[]): void {
    const known = new Set(state.found.map(({ url }) => url.href));
    const inOrder = keepOnePerUrl(records.map((record) => toFoundBackend(service, record))).sort((a, b) =>
      a.url.href < b.url.href ? -1 : 1,
    );
    const staying = inOrder.filter(({ url }) => known.has(url.href));
    const coming = inOrder.filter(({ url }) => !known.has(url.href));
    const others = [...this.#services.values()].filter((other) => other !== state);
    const room = MAX_BACKENDS - this.#fixed.length - others.reduce((sum, { found }) => sum + found.length, 0);
    state.found = [...staying, ...coming].slice(0, Math.max(0, room));
    state.beyondLimit = inOrder.length - state.found.length;
  }

  #renew(): Pick<ListChange, "added" | "removed"> {
    const before = this.#addresses;
    const found = keepOnePerUrl([...this.#services.values()].flatMap((state) => state.found));
    const known = new Map(before.map((address) => [keyOf(address), address]));
    this.#addresses = [
      ...this.#fixed,
      ...nameAll(found, this.#fixed).map((address) => known.get(keyOf(address)) ?? address),
    ];
    const [earlier, now] = [new Set(before), new Set(this.#addresses)];
    const namesOf = (addresses: Set<BackendAddress>) => Array.from(addresses, ({ name }) => name);
    return { added: namesOf(now.difference(earlier)), removed: namesOf(earlier.difference(now)) };
  }
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

/** How long a request waits for the first backend. A name server that restarts is back by then. */
const FIRST_LOOKUP_MILLISECONDS = 3000;
/** How long it waits for a lookup that another request makes, before it looks whether one is due. */
const LOOK_MILLISECONDS = 250;

interface PoolParts {
  readonly clock: Pick<Clock, "now" | "wait">;
  open(address: BackendAddress): Backend;
  /** Never rejects. */
  lookUp(service: ServiceName): Promise<SrvAnswer>;
  /** Called with all backends when there are others than before. */
  onChange(backends: readonly Backend[]): void;
  report(service: ServiceName, news: ListChange | string): void;
}

/** Opens the backends of the list, and makes its lookups while requests come: a Worker does not run in between. */
export class BackendPool {
  readonly #list: BackendList;
  readonly #parts: PoolParts;
  #open: ReadonlyMap<BackendAddress, Backend> = new Map();
  readonly #waiting = new Set<() => void>();

  constructor(sources: BackendSources, parts: PoolParts) {
    this.#list = new BackendList(sources);
    this.#parts = parts;
    this.#reopen();
  }

  get backends(): readonly Backend[] {
    return [...this.#open.values()];
  }

  /**
   * One lookup at a time: its connection is one of the six that a request may have at Cloudflare. Other requests make
   * the others meanwhile.
   */
  async renew(): Promise<void> {
    const { clock } = this.#parts;
    const services = this.#list.serviceCount;
    for (let made = 0; made < services; made++) {
      const [lookup] = this.#list.takeDue(clock.now(), 1);
      if (lookup === undefined) return;
      await this.#lookUp(lookup);
    }
  }

  async wait(): Promise<void> {
    const { clock } = this.#parts;
    const until = clock.now() + FIRST_LOOKUP_MILLISECONDS;
    while (this.#open.size === 0 && clock.now() < until) {
      await this.renew();
      if (this.#open.size > 0) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await Promise.race([promise, clock.wait(LOOK_MILLISECONDS)]);
      this.#waiting.delete(resolve);
    }
  }

  async #lookUp(lookup: Lookup): Promise<void> {
    const { clock, lookUp, onChange, report } = this.#parts;
    const answer = await lookUp(lookup.service);
    const before = this.#list.addresses;
    const news = this.#list.recordAnswer(lookup, clock.now(), answer);
    if (news !== null) report(lookup.service, news);
    if (this.#list.addresses === before) return;
    this.#reopen();
    onChange(this.backends);
  }

  /** A backend that stays is the same object, by which others know it. */
  #reopen(): void {
    const open = this.#open;
    const reopen = (address: BackendAddress) => open.get(address) ?? this.#parts.open(address);
    this.#open = new Map(this.#list.addresses.map((address) => [address, reopen(address)]));
    for (const wake of this.#waiting) wake();
  }
}
