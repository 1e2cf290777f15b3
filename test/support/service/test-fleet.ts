/**
 * An edge in front of several real backends that a test disturbs, and clients that keep rendering through it and check
 * each answer.
 */
import { once } from "node:events";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LOOPBACK, type LocalBackend, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { readSvgSize } from "../readers/svg-reader.ts";
import { API_TOKEN } from "../tokens.ts";
import { type EdgeSettings, startOneEdge } from "./edge-stage.ts";
import { FaultyLink, type LinkState } from "./faulty-link.ts";
import { clientOf } from "./test-service.ts";

type Environment = Readonly<Record<string, string>>;

/** The ways in which one backend fails while it lasts: its process ends, or its network does what a link can do. */
export const FAULTS = ["killed", "silent", "resets", "half-open"] as const satisfies readonly (LinkState | "killed")[];

type Fault = (typeof FAULTS)[number];

/** One place in the fleet: a port and a work directory, which its backends use one after another. */
class Berth {
  readonly url: string;
  readonly link: FaultyLink;
  readonly #port: number;
  readonly #environment: Environment;
  #backend: LocalBackend | null = null;

  constructor(port: number, environment: Environment) {
    this.#port = port;
    this.url = `http://${LOOPBACK}:${port}`;
    this.link = new FaultyLink(port);
    this.#environment = environment;
  }

  async start(environment: Environment = {}): Promise<void> {
    this.#backend = await startBackend({ ...this.#environment, ...environment }, this.#port);
  }

  /** Ends the backend with a signal and waits for its end. Returns its exit code; null if the signal ended it. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    if (this.#backend === null) throw new Error("no backend runs in this berth");
    const { process } = this.#backend;
    this.#backend = null;
    process.kill(signal);
    await once(process, "exit");
    return process.exitCode;
  }

  async disturb(fault: Fault): Promise<void> {
    if (fault === "killed") await this.end("SIGKILL");
    else this.link.set(fault);
  }

  async heal(fault: Fault): Promise<void> {
    if (fault === "killed") await this.start();
    else this.link.set("passes");
  }

  async stop(): Promise<void> {
    this.link.stop();
    if (this.#backend !== null) await this.end("SIGTERM");
  }
}

/** Starts an edge that knows these URLs of backends. */
export const startFleetEdge = (backends: readonly string[], settings: EdgeSettings = {}) =>
  startOneEdge({ SERVICE_BACKEND_URLS: backends.join(" "), ...settings });

export interface FleetOptions {
  readonly backends: number;
  /** Settings of every backend that it starts. */
  readonly backendSettings: Environment;
  /** Whether the edge reaches the backends by their links, which `disturb` needs. */
  readonly isLinked?: boolean;
}

export class TestFleet {
  readonly #folder: string;
  readonly #berths: readonly Berth[];
  readonly urls: readonly string[];
  edge: Awaited<ReturnType<typeof startFleetEdge>>;

  private constructor(folder: string, berths: readonly Berth[], urls: readonly string[], edge: TestFleet["edge"]) {
    this.#folder = folder;
    this.#berths = berths;
    this.urls = urls;
    this.edge = edge;
  }

  static async start({ backends, backendSettings, isLinked = false }: FleetOptions): Promise<TestFleet> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "fleet-test-")));
    const berths = await Promise.all(
      Array.from({ length: backends }, async (_, index) => {
        const work = { SERVICE_WORK_DIRECTORY: join(folder, String(index)) };
        const berth = new Berth(await takeFreePort(), { ...backendSettings, ...work });
        await Promise.all([berth.start(), berth.link.start()]);
        return berth;
      }),
    );
    const urls = berths.map(({ url, link }) => (isLinked ? link.url.origin : url));
    return new TestFleet(folder, berths, urls, await startFleetEdge(urls));
  }

  berth(index: number): Berth {
    const berth = this.#berths[index];
    if (berth === undefined) throw new RangeError(`the fleet has no berth ${index}`);
    return berth;
  }

  /** Stops the edge and starts another one. */
  async replaceEdge(): Promise<void> {
    await this.edge.stop();
    this.edge = await startFleetEdge(this.urls);
  }

  /**
   * Replaces the backends one after another, as a rolling update does: the next one once the last one is ready.
   *
   * @param beforeEach what each of them waits for
   */
  async roll(environment: Environment, beforeEach: () => Promise<void>): Promise<(number | null)[]> {
    const exitCodes: (number | null)[] = [];
    for (const berth of this.#berths) {
      await beforeEach();
      exitCodes.push(await berth.end("SIGTERM"));
      await berth.start(environment);
    }
    return exitCodes;
  }

  async stop(): Promise<void> {
    await this.edge.stop();
    for (const berth of this.#berths) await berth.stop();
    await rm(this.#folder, { recursive: true });
  }
}

/** A page of a size that no other request has, so that an answer for another request is noticed. */
const SOURCE = "#set page(width: data.width * 1pt, height: data.height * 1pt, margin: 0pt)\n#data.width";

/**
 * After each render, its client pauses for this long, and for longer than the render took: otherwise starting backends
 * would wait for the processor behind renders that show nothing more.
 */
const MIN_PAUSE_MILLISECONDS = 100;

/** What became of renders: `lost` holds what was answered instead of a file, `wrong` files of another size. */
export interface LoadResult {
  /** How long each took that was good. */
  readonly milliseconds: number[];
  readonly lost: string[];
  readonly wrong: string[];
}

/** Clients that render one document after another until they are told to stop. */
export class Load {
  readonly #url: () => URL;
  readonly #token: () => string;
  readonly #clients: readonly Promise<void>[];
  /** How many renders of each client have ended. */
  readonly #ended: number[];
  readonly #result: LoadResult = { milliseconds: [], lost: [], wrong: [] };
  #whenEnded = Promise.withResolvers<void>();
  #sent = 0;
  #isOver = false;

  /** @param url where to render; asked before each request, as the token is */
  constructor(clients: number, url: () => URL, token: () => string = () => API_TOKEN) {
    this.#url = url;
    this.#token = token;
    this.#ended = Array.from({ length: clients }, () => 0);
    this.#clients = this.#ended.map((_none, client) => this.#keepRendering(client));
  }

  /** Waits until each client has ended the render that it has begun, and another one. */
  async more(): Promise<void> {
    const goals = this.#ended.map((ended) => ended + 2);
    while (this.#ended.some((ended, client) => ended < (goals[client] ?? 0))) await this.#whenEnded.promise;
  }

  async end(): Promise<LoadResult> {
    this.#isOver = true;
    await Promise.all(this.#clients);
    return this.#result;
  }

  async #keepRendering(client: number): Promise<void> {
    while (!this.#isOver) {
      const began = performance.now();
      await this.#render().catch((error: unknown) => this.#result.lost.push(String(error)));
      this.#ended[client] = (this.#ended[client] ?? 0) + 1;
      this.#whenEnded.resolve();
      this.#whenEnded = Promise.withResolvers();
      await delay(Math.max(MIN_PAUSE_MILLISECONDS, 2 * (performance.now() - began)));
    }
  }

  async #render(): Promise<void> {
    const { milliseconds, lost, wrong } = this.#result;
    const number = this.#sent++;
    const size = { width: 10 + (number % 1000), height: 10 + Math.floor(number / 1000) };
    const began = performance.now();
    const request = { source: SOURCE, data: size, output: { format: "svg" } };
    const headers = { "X-Service-Api-Token": this.#token() };
    const answer = await clientOf(this.#url()).render(request, { headers });
    const bytes = await answer.bytes();
    if (answer.status !== 200) {
      lost.push(`${answer.status} ${Buffer.from(bytes).toString("utf8")}`);
      return;
    }
    const [width, height] = readSvgSize(bytes);
    if (width === size.width && height === size.height) milliseconds.push(performance.now() - began);
    else wrong.push(`${width},${height} instead of ${size.width},${size.height}`);
  }
}
