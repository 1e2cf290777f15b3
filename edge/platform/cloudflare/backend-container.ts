/**
 * A backend on Cloudflare Containers: the Durable Object that starts the backend's image in its container at the first
 * request and passes requests on, by `ctx.container` alone (docs/decisions/README.md#in-a-line-each). Nobody else can
 * reach the backend, so the token between the two is made here, at every start.
 */
import { DurableObject } from "cloudflare:workers";
import { FILE_MEDIA_TYPES } from "../../../protocol/file-types.ts";
import {
  BACKEND_TOKEN_HEADER,
  CALLER_HEADER,
  PROBE_CALLER,
  PROBLEM_CAUSE_HEADER,
  PROBLEM_CODE_HEADER,
  TIME_BUDGET_HEADER,
} from "../../../protocol/headers.ts";
import type { CapacityCause } from "../../../rules/causes.ts";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS } from "../../../rules/problem.ts";
import { BACKEND_TIMEOUT_SETTING, RENDER_TIME_SETTINGS } from "../../../rules/render-time.ts";
import { MONOTONIC_CLOCK } from "../../clock.ts";

const BACKEND_PORT = 8788;
const INACTIVITY_TIMEOUT_MILLISECONDS = 10 * 60 * 1000;
/** Half of the edge's default time budget: the render has the other half. A usual start takes some seconds. */
const START_TIMEOUT_MILLISECONDS = 30_000;
const READY_TIMEOUT_MILLISECONDS = 2000;
const READY_POLL_MILLISECONDS = 100;
const SIGTERM = 15;
const TOKEN_BYTES = 32;
const PROMETHEUS_MEDIA_TYPE = "text/plain; version=0.0.4";
const START_KEY = "start";
const RENDER_PATH = "/v1/render";
/**
 * An object may have as many fetches that wait for an answer as a request: six, of which one is left for probes,
 * readiness and metrics. Whether that holds for requests to its own container, Cloudflare does not say; a seventh would
 * wait here, unseen by the backend's queue, with every probe behind it.
 */
const MAX_RENDERS_WAITING = 5;
/** How long a backend that has answered a render counts as one that works. */
const WORKING_MILLISECONDS = 5000;
/** Longer than the edge waits for any answer: what its request has not given back by then, it never will. */
const LONGEST_WAIT_MILLISECONDS = 15 * 60 * 1000;

export type ContainerControl = Pick<
  Container,
  "running" | "start" | "monitor" | "signal" | "setInactivityTimeout" | "getTcpPort"
>;

/** The Worker's bindings as far as they concern the backend; others are ignored. */
export type ContainerEnvironment = Readonly<Record<string, unknown>>;

/** How a container was started. It is stored, because a container may outlive this object's memory. */
interface Start {
  readonly token: string;
  readonly settings: Readonly<Record<string, string>>;
}

export class BackendContainer extends DurableObject<ContainerEnvironment> {
  readonly #container: ContainerControl;
  #token: string | null = null;
  #starting: Promise<string> | null = null;
  #ended: Promise<void> | null = null;
  /** The renders that have no answer yet, by when they began. */
  readonly #waiting = new Map<symbol, number>();
  #answeredAt = Number.NEGATIVE_INFINITY;

  /** @param container a stand-in, in tests. */
  constructor(
    context: DurableObjectState,
    environment: ContainerEnvironment,
    container: ContainerControl | undefined = context.container,
  ) {
    super(context, environment);
    if (container === undefined) throw new Error("no [[containers]] of the configuration names this class");
    this.#container = container;
  }

  /** Passes a request on to the backend, and its response back. Throws where the backend cannot be reached. */
  override async fetch(request: Request): Promise<Response> {
    const answer = this.#answerWhileStopped(request) ?? this.#answerWhileFull(request);
    if (answer !== null) return answer;
    const place = isRender(request) && !isProbe(request) ? this.#takePlace(request.signal) : null;
    try {
      const response = await this.#passOn(request);
      if (place !== null) this.#answeredAt = MONOTONIC_CLOCK.now();
      return response;
    } finally {
      if (place !== null) this.#waiting.delete(place);
    }
  }

  #takePlace(signal: AbortSignal): symbol {
    const place = Symbol();
    this.#waiting.set(place, MONOTONIC_CLOCK.now());
    signal.addEventListener("abort", () => this.#waiting.delete(place));
    return place;
  }

  /** Null if there is room. A probe is passed on all the same if nothing has been heard of the backend for a while. */
  #answerWhileFull(request: Request): Response | null {
    if (!isRender(request)) return null;
    const now = MONOTONIC_CLOCK.now();
    for (const [place, beganAt] of this.#waiting) {
      if (now - beganAt > LONGEST_WAIT_MILLISECONDS) this.#waiting.delete(place);
    }
    if (this.#waiting.size < MAX_RENDERS_WAITING) return null;
    return isProbe(request) && now - this.#answeredAt > WORKING_MILLISECONDS ? null : answerFull();
  }

  async #passOn(request: Request): Promise<Response> {
    const arrivedAt = MONOTONIC_CLOCK.now();
    const token = this.#token ?? (await this.#start());
    const { method, body } = request;
    // workerd ignores `request.signal` itself as the signal of a subrequest.
    const signal = AbortSignal.any([request.signal]);
    const headers = new Headers(request.headers);
    headers.set(BACKEND_TOKEN_HEADER, token);
    const timeBudget = headers.get(TIME_BUDGET_HEADER);
    // The start of the container has used up some of the edge's time budget.
    if (timeBudget !== null)
      headers.set(TIME_BUDGET_HEADER, String(Math.max(0, Number(timeBudget) - (MONOTONIC_CLOCK.now() - arrivedAt))));
    try {
      return await this.#fetchBackend(request.url, { method, headers, body, signal, redirect: "manual" });
    } catch (error) {
      if (!request.signal.aborted) this.#token = null;
      throw error;
    }
  }

  /**
   * Only a caller's render starts a backend: other routes need no token. Until it is ready, this object answers for it,
   * to a probe as one that works, so that the edge does not treat it as dead. Null if the request is for the backend
   * itself.
   */
  #answerWhileStopped(request: Request): Response | null {
    const isStarting = this.#starting !== null;
    if (this.#token !== null || (this.#container.running && !isStarting)) return null;
    switch (new URL(request.url).pathname) {
      case RENDER_PATH:
        if (!isProbe(request)) return null;
        return isStarting ? answerFull() : new Response(null, { headers: { "Content-Type": FILE_MEDIA_TYPES.pdf } });
      case "/metrics":
        return new Response("", { headers: { "Content-Type": PROMETHEUS_MEDIA_TYPE } });
      default:
        return new Response(null, { status: 503 });
    }
  }

  /** Without TLS: the platform offers none between a Durable Object and its container. */
  #fetchBackend(url: string, init: RequestInit): Promise<Response> {
    const { pathname, search } = new URL(url);
    return this.#container.getTcpPort(BACKEND_PORT).fetch(`http://backend${pathname}${search}`, init);
  }

  #start(): Promise<string> {
    this.#starting ??= this.#becomeReady().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #becomeReady(): Promise<string> {
    const deadline = MONOTONIC_CLOCK.now() + START_TIMEOUT_MILLISECONDS;
    const settings = pickBackendSettings(this.env);
    let start = await this.ctx.storage.get<Start>(START_KEY);
    if (this.#container.running && JSON.stringify(start?.settings) !== JSON.stringify(settings)) {
      await this.#stop(deadline);
    }
    if (start === undefined || !this.#container.running) {
      start = { token: makeToken(), settings };
      await this.ctx.storage.put(START_KEY, start);
      const env = { ...settings, SERVICE_BACKEND_TOKENS: start.token };
      this.#container.start({ env, enableInternet: false });
    }
    void this.#watch();
    await this.#container.setInactivityTimeout(INACTIVITY_TIMEOUT_MILLISECONDS);
    while (!(await this.#isReady())) {
      if (!this.#container.running) throw new Error("the container ended before it was ready");
      if (MONOTONIC_CLOCK.now() > deadline) throw new Error("the container did not become ready in time");
      await MONOTONIC_CLOCK.wait(READY_POLL_MILLISECONDS);
    }
    this.#token = start.token;
    return start.token;
  }

  async #isReady(): Promise<boolean> {
    try {
      const response = await this.#fetchBackend("http://backend/ready", {
        signal: AbortSignal.timeout(READY_TIMEOUT_MILLISECONDS),
      });
      await response.body?.cancel();
      return response.ok;
    } catch {
      return false;
    }
  }

  /** Lets the backend finish its renders. Meanwhile, requests wait here or go to another instance. */
  async #stop(deadline: number): Promise<void> {
    this.#container.signal(SIGTERM);
    await Promise.race([this.#watch(), MONOTONIC_CLOCK.wait(deadline - MONOTONIC_CLOCK.now())]);
    if (this.#container.running) throw new Error("the container with the previous settings has not ended yet");
  }

  /** Resolves when the container ends. workerd keeps `running` up to date only while `monitor` is awaited. */
  #watch(): Promise<void> {
    this.#ended ??= this.#container
      .monitor()
      .then(
        () => console.log({ message: "container ended" }),
        (error: unknown) => console.error({ message: "container failed", error: String(error) }),
      )
      .then(() => {
        this.#ended = null;
        this.#token = null;
      });
    return this.#ended;
  }
}

function isRender({ url }: Request): boolean {
  return new URL(url).pathname === RENDER_PATH;
}

function isProbe({ headers }: Request): boolean {
  return headers.get(CALLER_HEADER) === PROBE_CALLER;
}

/** What a backend answers when it is full: the edge tries another one. */
function answerFull(): Response {
  const headers = {
    "Content-Type": PROBLEM_MEDIA_TYPE,
    [PROBLEM_CODE_HEADER]: "render_queue_full",
    [PROBLEM_CAUSE_HEADER]: "queue_full" satisfies CapacityCause,
  };
  return new Response(null, { status: PROBLEMS.render_queue_full.status, headers });
}

const SHARED_SETTINGS: readonly { readonly setting: string }[] = [
  ...Object.values(LIMIT_SETTINGS),
  ...Object.values(RENDER_TIME_SETTINGS),
  BACKEND_TIMEOUT_SETTING,
];

/** The settings of a backend: those that it shares with the edge, and those in the variable BACKEND_SETTINGS. */
function pickBackendSettings(environment: ContainerEnvironment): Readonly<Record<string, string>> {
  const shared = SHARED_SETTINGS.map(({ setting }) => [setting, environment[setting]]);
  const others = Object.entries(environment.BACKEND_SETTINGS ?? {});
  return Object.fromEntries([...shared, ...others].filter((entry) => typeof entry[1] === "string"));
}

function makeToken(): string {
  return crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)).toHex();
}
