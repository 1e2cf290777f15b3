/**
 * Stands in for a container engine: starts the real backend as a process for each instance of
 * `test/edge/container-worker.ts`, with the environment that the Worker gives to its container.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { LOOPBACK, type LocalBackend, startBackend, takeFreePort } from "../../../scripts/start/local-service.ts";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";
import { backendEnvironment } from "./test-service.ts";

/** One start of a backend. */
interface Launch {
  readonly instance: string;
  /** The options of `container.start()`. */
  readonly options: { readonly env: Readonly<Record<string, string>>; readonly enableInternet: boolean };
  readonly address: string;
  /** Rejects if the backend does not start. */
  readonly backend: Promise<LocalBackend>;
  /** Resolves to the exit code. */
  readonly ended: Promise<number>;
  isRunning: boolean;
  /** The number of requests to the container after its end. */
  requestsAfterEnd: number;
}

export interface ContainerLauncher {
  readonly url: string;
  /** In the order of their starts. */
  readonly launches: readonly Launch[];
  /** What instances have set, by their names. */
  readonly inactivityTimeoutsMilliseconds: ReadonlyMap<string, number>;
  /** What answers in place of all backends, if a test sets it. */
  standIn: string | null;
  stop(): Promise<void>;
}

/** @param settings of every backend, in addition to those of its container */
export async function startContainerLauncher(settings: Readonly<Record<string, string>>): Promise<ContainerLauncher> {
  const launches: Launch[] = [];
  const inactivityTimeoutsMilliseconds = new Map<string, number>();
  const newest = (instance: string) => launches.findLast((launch) => launch.instance === instance);

  async function launch(instance: string, options: Launch["options"]): Promise<void> {
    const port = await takeFreePort();
    const { SERVICE_BACKEND_TOKENS: _, ...environment } = backendEnvironment();
    const backend = startBackend({ ...environment, ...settings, ...options.env }, port);
    const ended = backend.then(
      async ({ process }) => {
        if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
        return process.exitCode ?? 1;
      },
      () => 1,
    );
    const started: Launch = {
      instance,
      options,
      address: `http://${LOOPBACK}:${port}`,
      backend,
      ended,
      isRunning: true,
      requestsAfterEnd: 0,
    };
    void ended.then(() => {
      started.isRunning = false;
    });
    launches.push(started);
  }

  /** The platform's part of each call of the container, by its name. */
  const actions: Readonly<Record<string, (instance: string, body: string) => Promise<string | null>>> = {
    running: async (instance) => (newest(instance)?.isRunning === true ? "" : null),
    start: async (instance, body) => {
      await launch(instance, JSON.parse(body));
      return "";
    },
    exit: async (instance) => {
      await expectLaunch(() => newest(instance)?.isRunning === true);
      return String(await newest(instance)?.ended);
    },
    signal: async (instance, body) => {
      (await newest(instance)?.backend)?.process.kill(Number(body));
      return "";
    },
    "inactivity-timeout": async (instance, body) => {
      inactivityTimeoutsMilliseconds.set(instance, Number(body));
      return "";
    },
    address: async (instance, body) => {
      if (body !== "8788") throw new Error(`the image does not listen on ${body}`);
      const launched = newest(instance);
      if (launched === undefined) return null;
      if (!launched.isRunning) launched.requestsAfterEnd++;
      return launcher.standIn ?? launched.address;
    },
  };

  const server = createServer((request, response) => {
    const [, instance = "", action = ""] = (request.url ?? "").split("/");
    void (async () => {
      const answer = await actions[action]?.(instance, await text(request));
      response.writeHead(typeof answer === "string" ? 200 : 404).end(answer);
    })();
  });
  const { origin } = await listenOnLoopback(server);
  const launcher: ContainerLauncher = {
    url: origin,
    launches,
    inactivityTimeoutsMilliseconds,
    standIn: null,
    stop: async () => {
      await Promise.allSettled(launches.map(async ({ backend }) => (await backend).stop()));
      await closeServer(server);
    },
  };
  return launcher;
}

/** `start` and `monitor` are called one after the other, but arrive on connections of their own. */
async function expectLaunch(isLaunched: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !isLaunched(); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
}
