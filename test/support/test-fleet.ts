/**
 * An edge in front of several real backends that a test kills, stops and starts again, and clients that render through it all the
 * while and check each answer.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import {
  type LocalBackend,
  type LocalEdge,
  startBackend,
  startEdge,
  takeFreePort,
} from "../../scripts/local-service.ts";
import { readSvgSize } from "./svg-reader.ts";
import { makeTemporaryFolder } from "./temporary-folder.ts";
import { backendEnvironment } from "./test-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "./tokens.ts";

type Environment = Readonly<Record<string, string>>;

/** One place in the fleet: a port and a work directory, which its backends use one after another. */
class Berth {
  readonly #port: number;
  readonly #workDirectory: string;
  #backend: LocalBackend | null = null;

  constructor(port: number, workDirectory: string) {
    this.#port = port;
    this.#workDirectory = workDirectory;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(environment: Environment): Promise<void> {
    const settings = { ...backendEnvironment(), SERVICE_WORK_DIRECTORY: this.#workDirectory, ...environment };
    this.#backend = await startBackend(settings, this.#port);
  }

  /** Ends the backend with a signal and waits for its end. Returns its exit code; null if the signal ended it. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const process = this.#backend?.process;
    this.#backend = null;
    if (process === undefined) throw new Error("no backend runs in this berth");
    process.kill(signal);
    await once(process, "exit");
    return process.exitCode;
  }

  async stop(): Promise<void> {
    if (this.#backend !== null) await this.end("SIGTERM");
  }
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

  static async start(count: number, environment: Environment = {}): Promise<TestFleet> {
    const berths = await Promise.all(
      Array.from({ length: count }, async () => {
        return new Berth(await takeFreePort(), await makeTemporaryFolder("fleet-test-"));
      }),
    );
    await Promise.all(berths.map((berth) => berth.start(environment)));
    const edgePort = await takeFreePort();
    return new TestFleet(berths, await startFleetEdge(berths, edgePort, {}), edgePort);
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

  /** Replaces the backends one after another, as a rolling update does: the next one once the last one is ready. */
  async roll(environment: Environment = {}): Promise<(number | null)[]> {
    const exitCodes: (number | null)[] = [];
    for (const berth of this.berths) {
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
      ...settings,
    },
    port,
  );
}

/** What became of renders: `lost` holds what was answered instead of a file, `wrong` files of another size. */
export interface LoadResult {
  readonly good: number;
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
}

/** A page of a size that no other request has, so that an answer for another request is noticed. */
const SOURCE = "#set page(width: data.width * 1pt, height: data.height * 1pt, margin: 0pt)\n#data.width";

/** Clients that render one document after another until they are told to stop. */
export class Load {
  readonly #url: () => URL;
  readonly #running: Promise<void>[];
  readonly #lost: string[] = [];
  readonly #wrong: string[] = [];
  #good = 0;
  #sent = 0;
  #isOver = false;

  /** @param url where to render; asked before each request */
  constructor(clients: number, url: () => URL, token: () => string = () => API_TOKEN) {
    this.#url = url;
    this.#running = Array.from({ length: clients }, async () => {
      while (!this.#isOver) await this.#renderOne(token());
    });
  }

  /** Waits until so many more renders have succeeded. */
  async more(renders: number): Promise<void> {
    const goal = this.#good + renders;
    while (this.#good < goal && this.#lost.length < 100) await delay(5);
  }

  async end(): Promise<LoadResult> {
    this.#isOver = true;
    await Promise.all(this.#running);
    return { good: this.#good, lost: this.#lost, wrong: this.#wrong };
  }

  async #renderOne(token: string): Promise<void> {
    const number = this.#sent++;
    const width = 10 + (number % 1000);
    const height = 10 + Math.floor(number / 1000);
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
      else this.#good++;
    } catch (error) {
      this.#lost.push(String(error));
    }
  }
}
