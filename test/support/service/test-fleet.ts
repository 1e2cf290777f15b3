/**
 * An edge in front of several real backends that a test or a benchmark disturbs, and clients that keep rendering
 * through it and check each answer.
 */
import { once } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type LocalBackend,
  type LocalEdge,
  startBackend,
  startEdge,
  takeFreePort,
} from "../../../scripts/start/local-service.ts";
import { readSvgSize } from "../readers/svg-reader.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../tokens.ts";
import { FaultyLink, type LinkState } from "./faulty-link.ts";

type Environment = Readonly<Record<string, string>>;

/**
 * The ways in which one backend fails while it lasts: its process ends, or its network does what a link can do.
 */
export const FAULTS = ["killed", "silent", "resets", "half-open"] as const satisfies readonly (LinkState | "killed")[];

type Fault = (typeof FAULTS)[number];

/** One place in the fleet: a port and a work directory, which its backends use one after another. */
class Berth {
  readonly #port: number;
  readonly #workDirectory: string;
  readonly #environment: Environment;
  readonly #link: FaultyLink;
  #backend: LocalBackend | null = null;

  private constructor(port: number, workDirectory: string, environment: Environment, link: FaultyLink) {
    this.#port = port;
    this.#workDirectory = workDirectory;
    this.#environment = environment;
    this.#link = link;
  }

  static async make(environment: Environment): Promise<Berth> {
    const port = await takeFreePort();
    const workDirectory = await realpath(await mkdtemp(join(tmpdir(), "fleet-test-")));
    return new Berth(port, workDirectory, environment, await new FaultyLink(port).start());
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The URL of the same backend by way of its link. */
  get linkUrl(): string {
    return this.#link.url.origin;
  }

  async start(environment: Environment): Promise<void> {
    const settings = { ...this.#environment, SERVICE_WORK_DIRECTORY: this.#workDirectory, ...environment };
    this.#backend = await startBackend(settings, this.#port);
  }

  /** Ends the backend with a signal and waits for its end. Returns its exit code; null if the signal ended it. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const { process } = this.#running();
    this.#backend = null;
    process.kill(signal);
    await once(process, "exit");
    return process.exitCode;
  }

  async disturb(fault: Fault): Promise<void> {
    if (fault === "killed") await this.end("SIGKILL");
    else this.#link.set(fault);
  }

  async heal(fault: Fault): Promise<void> {
    if (fault === "killed") await this.start({});
    else this.#link.set("passes");
  }

  async stop(): Promise<void> {
    this.#link.stop();
    if (this.#backend !== null) await this.end("SIGTERM");
    await rm(this.#workDirectory, { recursive: true, force: true });
  }

  #running(): LocalBackend {
    if (this.#backend === null) throw new Error("no backend runs in this berth");
    return this.#backend;
  }
}

export interface FleetOptions {
  readonly backends: number;
  /** Settings of every backend that it starts. */
  readonly backendSettings: Environment;
  /** Whether the edge reaches the backends by their links, which `disturb` needs. */
  readonly isLinked?: boolean;
}

export class TestFleet {
  readonly berths: readonly Berth[];
  edge: LocalEdge;
  readonly #edgePort: number;

  private constructor(berths: readonly Berth[], edge: LocalEdge, edgePort: number) {
    this.berths = berths;
    this.edge = edge;
    this.#edgePort = edgePort;
  }

  static async start({ backends, backendSettings, isLinked = false }: FleetOptions) {
    const berths = await Promise.all(Array.from({ length: backends }, () => Berth.make(backendSettings)));
    await Promise.all(berths.map((berth) => berth.start({})));
    const edgePort = await takeFreePort();
    const urls = isLinked ? berths.map(({ linkUrl }) => ({ url: linkUrl })) : berths;
    return new TestFleet(berths, await startFleetEdge(urls, edgePort, {}), edgePort);
  }

  berth(index: number): Berth {
    const berth = this.berths[index];
    if (berth === undefined) throw new RangeError(`the fleet has no berth ${index}`);
    return berth;
  }

  /** Stops the edge and starts another one in its place. */
  async replaceEdge(settings: Environment): Promise<void> {
    await this.edge.stop();
    this.edge = await startFleetEdge(this.berths, this.#edgePort, settings);
  }

  /**
   * Replaces the backends one after another, as a rolling update does: the next one once the last one is ready.
   *
   * @param beforeEach what each of them waits for
   */
  async roll(environment: Environment = {}, beforeEach?: () => Promise<void>): Promise<(number | null)[]> {
    const exitCodes: (number | null)[] = [];
    for (const berth of this.berths) {
      await beforeEach?.();
      exitCodes.push(await berth.end("SIGTERM"));
      await berth.start(environment);
    }
    return exitCodes;
  }

  async stop(): Promise<void> {
    await this.edge.stop();
    for (const berth of this.berths) await berth.stop();
  }
}

export function startFleetEdge(
  berths: readonly { readonly url: string }[],
  port: number,
  settings: Environment,
): Promise<LocalEdge> {
  return startEdge(
    {
      SERVICE_API_TOKENS: API_TOKEN,
      SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
      SERVICE_BACKEND_URLS: berths.map(({ url }) => url).join(" "),
      SERVICE_LOG_REQUESTS: "none",
      ...settings,
    },
    port,
  );
}

/** What became of renders: `lost` holds what was answered instead of a file, `wrong` files of another size. */
export interface LoadResult {
  /** How long each took that was good. */
  readonly milliseconds: readonly number[];
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
}

/** A page of a size that no other request has, so that an answer for another request is noticed. */
const SOURCE = "#set page(width: data.width * 1pt, height: data.height * 1pt, margin: 0pt)\n#data.width";

/**
 * After each render, its client pauses for this long and at least for as long as the render took, and for more such
 * pauses while nobody waits for renders. Otherwise starting backends would wait for the processor behind renders that
 * show nothing more.
 */
const MIN_PAUSE_MILLISECONDS = 100;
const MAX_PAUSES = 5;

/** Clients that render one document after another until they are told to stop. */
export class Load {
  readonly #url: () => URL;
  readonly #running: Promise<void>[];
  /** How many renders of each client have ended. */
  readonly #ended: number[];
  readonly #lost: string[] = [];
  readonly #wrong: string[] = [];
  readonly #milliseconds: number[] = [];
  /** How many renders of each client end the round that is under way; more begin only after it. */
  #roundGoals: readonly number[] | null = null;
  /** Called after each render. */
  readonly #waiters = new Set<() => void>();
  #sent = 0;
  /** Whether the test waits for renders at this moment. */
  #isAwaited = false;
  #isOver = false;

  /** @param url where to render; asked before each request */
  constructor(clients: number, url: () => URL, token: () => string = () => API_TOKEN) {
    this.#url = url;
    this.#ended = Array.from({ length: clients }, () => 0);
    this.#running = this.#ended.map(async (_none, client) => {
      while (!this.#isOver) {
        const began = performance.now();
        await this.#renderOne(token());
        this.#ended[client] = (this.#ended[client] ?? 0) + 1;
        for (const waiter of this.#waiters) waiter();
        const pause = Math.max(MIN_PAUSE_MILLISECONDS, performance.now() - began);
        for (let pauses = 0; pauses < (this.#isAwaited ? 1 : MAX_PAUSES) && !this.#isOver; pauses++) await delay(pause);
        await this.#until(() => !this.#hasEndedRound(client));
      }
    });
  }

  /** Waits for something that renders lead to, or that happens best among many of them. */
  async during(awaited: PromiseLike<unknown>): Promise<void> {
    this.#isAwaited = true;
    await awaited;
    this.#isAwaited = false;
  }

  /** Waits until this many more renders have succeeded. */
  async more(renders: number): Promise<void> {
    const goal = this.#milliseconds.length + renders;
    await this.during(this.#until(() => this.#milliseconds.length >= goal || this.#lost.length >= 100));
  }

  /**
   * Waits until each client has ended the render that it has begun, and another one. One that has done so waits for the
   * others.
   */
  async round(): Promise<void> {
    this.#roundGoals = this.#ended.map((ended) => ended + 2);
    await this.during(this.#until(() => this.#ended.every((_ended, client) => this.#hasEndedRound(client))));
    this.#roundGoals = null;
    for (const waiter of this.#waiters) waiter();
  }

  #hasEndedRound(client: number): boolean {
    return (this.#ended[client] ?? 0) >= (this.#roundGoals?.[client] ?? Number.POSITIVE_INFINITY);
  }

  /** Waits for a state that renders lead to. */
  async #until(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiters.add(resolve);
      await promise;
      this.#waiters.delete(resolve);
    }
  }

  async end(): Promise<LoadResult> {
    this.#isOver = true;
    await Promise.all(this.#running);
    return { milliseconds: this.#milliseconds, lost: this.#lost, wrong: this.#wrong };
  }

  async #renderOne(token: string): Promise<void> {
    const number = this.#sent++;
    const width = 10 + (number % 1000);
    const height = 10 + Math.floor(number / 1000);
    const began = performance.now();
    try {
      const answer = await fetch(new URL("/v1/render", this.#url()), {
        method: "POST",
        headers: { "X-Service-Api-Token": token, "Content-Type": "application/json" },
        body: JSON.stringify({ source: SOURCE, data: { width, height }, output: { format: "svg" } }),
      });
      const bytes = await answer.bytes();
      if (answer.status !== 200) {
        this.#lost.push(`${answer.status} ${Buffer.from(bytes).toString("utf8")}`);
        return;
      }
      const size = readSvgSize(bytes);
      if (size[0] !== width || size[1] !== height) this.#wrong.push(`${size} instead of ${width},${height}`);
      else this.#milliseconds.push(performance.now() - began);
    } catch (error) {
      this.#lost.push(String(error));
    }
  }
}
