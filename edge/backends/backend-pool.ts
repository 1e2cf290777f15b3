/**
 * Opens the backends of `backend-list.ts`, and makes the lookups that keep the list up to date: at requests, because a
 * Worker runs for nothing else. Clock and lookups are passed in.
 */
import type { WallClock } from "../clock.ts";
import type { BackendAddress, BackendSources, ServiceName } from "./backend-address.ts";
import { BackendList, type ListChange, type Lookup } from "./backend-list.ts";
import type { SrvAnswer } from "./dns-message.ts";

/** How long a request waits for the first backend. A name server that restarts is back by then. */
const FIRST_LOOKUP_MILLISECONDS = 3000;
/** Requests poll for it: in workerd, one request must not wake another. */
const POLL_MILLISECONDS = 20;

export interface PoolParts<Target> {
  readonly clock: Pick<WallClock, "now" | "wait">;
  open(address: BackendAddress): Target;
  /** Never rejects. */
  lookUp(service: ServiceName): Promise<SrvAnswer>;
  /** Called with all backends when there are others than before. */
  onChange(backends: readonly Target[]): void;
  report(service: ServiceName, news: ListChange | string): void;
}

export class BackendPool<Target> {
  readonly #list: BackendList;
  readonly #parts: PoolParts<Target>;
  #open: ReadonlyMap<BackendAddress, Target> = new Map();

  constructor(sources: BackendSources, parts: PoolParts<Target>) {
    this.#list = new BackendList(sources);
    this.#parts = parts;
    this.#reopen();
  }

  get isRenewed(): boolean {
    return this.#list.isRenewed;
  }

  get backends(): readonly Target[] {
    return [...this.#open.values()];
  }

  async renew(): Promise<void> {
    await Promise.all(this.#list.takeDue(this.#parts.clock.now()).map((lookup) => this.#lookUp(lookup)));
  }

  /** Waits until a backend is known, for some seconds at most. */
  async wait(): Promise<void> {
    const { clock } = this.#parts;
    const until = clock.now() + FIRST_LOOKUP_MILLISECONDS;
    while (this.isRenewed && this.#open.size === 0 && clock.now() < until) {
      await this.renew();
      if (this.#open.size === 0) await clock.wait(POLL_MILLISECONDS);
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
  }
}
