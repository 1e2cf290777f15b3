/** The Durable Object of a stand-in container. Real backends: test/service/deploy/container-backend.test.ts. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { BackendContainer, type ContainerControl } from "../../../../edge/platform/cloudflare/backend-container.ts";
import { hastenWaits, stopClocks } from "../../still-clock.ts";

type Answer = (request: Request) => Response | Promise<Response>;

const READY: Answer = () => new Response("ready");
const RENDER = "https://render.example/v1/render?a=b";

/** Behaves as workerd's: `start` takes effect at once, `monitor` resolves at the end. */
class StandInContainer implements ContainerControl {
  running = false;
  readonly starts: (ContainerStartupOptions | undefined)[] = [];
  readonly signals: number[] = [];
  readonly requests: { path: string; port: number; headers: Headers; redirect: string }[] = [];
  inactivityTimeoutMilliseconds: number | bigint = 0;
  answer: Answer = READY;
  #ended = Promise.withResolvers<void>();

  start(options?: ContainerStartupOptions): void {
    this.starts.push(options);
    this.running = true;
  }

  monitor(): Promise<void> {
    return this.#ended.promise;
  }

  /** It is known a moment later to those that monitor it. */
  async end(error?: Error): Promise<void> {
    this.running = false;
    if (error === undefined) this.#ended.resolve();
    else this.#ended.reject(error);
    this.#ended = Promise.withResolvers<void>();
    await scheduler.wait(0);
  }

  signal(number: number): void {
    this.signals.push(number);
  }

  async setInactivityTimeout(milliseconds: number | bigint): Promise<void> {
    this.inactivityTimeoutMilliseconds = milliseconds;
  }

  getTcpPort(port: number): Fetcher {
    const send = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init);
      const { headers, redirect } = request;
      this.requests.push({ path: request.url.replace("http://backend", ""), port, headers, redirect });
      return this.answer(request);
    };
    const connect = () => {
      throw new Error("nobody connects without HTTP");
    };
    return { fetch: send, connect };
  }

  get paths(): string[] {
    return this.requests.map(({ path }) => path);
  }

  /** The token with which it was last started. */
  get token(): string | undefined {
    return this.starts.at(-1)?.env?.SERVICE_BACKEND_TOKENS;
  }
}

interface Stage {
  readonly container: StandInContainer;
  /** A new object for the same container, as after a deployment. */
  deploy(environment?: Readonly<Record<string, unknown>>): BackendContainer;
}

function itOnStage(name: string, play: (stage: Stage) => Promise<void>): void {
  it(name, () =>
    runInDurableObject(env.TEST_OBJECTS.get(env.TEST_OBJECTS.newUniqueId()), (_object, state) => {
      const container = new StandInContainer();
      return play({ container, deploy: (environment = {}) => new BackendContainer(state, environment, container) });
    }),
  );
}

const render = (object: BackendContainer, headers: Readonly<Record<string, string>> = {}, signal?: AbortSignal) =>
  object.fetch(new Request(RENDER, { method: "POST", body: "the body", headers, ...(signal && { signal }) }));
const get = (object: BackendContainer, path: string) => object.fetch(new Request(`https://render.example${path}`));
const probe = (object: BackendContainer) => render(object, { "X-Service-Caller": "edge-probe" });

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("while no container runs", () => {
  itOnStage("metrics, readiness and probes are answered without one", async ({ container, deploy }) => {
    const object = deploy();
    const metrics = await get(object, "/metrics");
    expect([metrics.status, await metrics.text()]).toEqual([200, ""]);
    expect(metrics.headers.get("Content-Type")).toBe("text/plain; version=0.0.4");
    for (const path of ["/ready", "/capabilities.json"]) expect((await get(object, path)).status).toBe(503);
    const probed = await probe(object);
    expect([probed.status, probed.headers.get("Content-Type")]).toEqual([200, "application/pdf"]);
    expect([container.starts, container.paths]).toEqual([[], []]);
  });

  itOnStage("a render starts one with the edge's settings and has its token", async ({ container, deploy }) => {
    const environment = { SERVICE_MAX_OUTPUT_FILES: "7", SERVICE_API_TOKENS: "secret", LIMIT: 1 };
    const object = deploy({ ...environment, BACKEND_SETTINGS: { SERVICE_MAX_CONCURRENT_RENDERS: "1", BAD: 2 } });
    let body = "";
    container.answer = async (request) => {
      if (request.method === "POST") body = await request.text();
      return new Response(request.method);
    };
    expect(await (await render(object, { "X-Service-Caller": "billing" })).text()).toBe("POST");
    const { token } = container;
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const settings = { SERVICE_MAX_OUTPUT_FILES: "7", SERVICE_MAX_CONCURRENT_RENDERS: "1" };
    expect(container.starts).toEqual([{ env: { ...settings, SERVICE_BACKEND_TOKENS: token }, enableInternet: false }]);
    expect(container.inactivityTimeoutMilliseconds).toBe(600_000);
    expect(container.paths).toEqual(["/ready", "/v1/render?a=b"]);
    const [, request] = container.requests;
    expect(request).toMatchObject({ port: 8788, redirect: "manual" });
    expect(request?.headers.get("X-Service-Backend-Token")).toBe(token);
    expect(body).toBe("the body");
    // A container that is known to be ready is asked at once.
    expect((await get(object, "/metrics")).status).toBe(200);
    await render(object);
    expect(container.paths.slice(2)).toEqual(["/metrics", "/v1/render?a=b"]);
  });
});

describe("where an object may have six fetches that wait for an answer", () => {
  /** An object whose backend holds every render, and what was sent to it. */
  async function fill({ container, deploy }: Stage) {
    const object = deploy();
    await render(object);
    const held: PromiseWithResolvers<Response>[] = [];
    container.answer = (request) => {
      if (request.headers.get("X-Service-Caller") === "edge-probe") return new Response("probed");
      const answer = Promise.withResolvers<Response>();
      held.push(answer);
      return answer.promise;
    };
    const clients = Array.from({ length: 5 }, () => new AbortController());
    const renders = clients.map(({ signal }) => render(object, {}, signal));
    await vi.waitFor(() => expect(held).toHaveLength(5));
    return { object, held, clients, renders };
  }
  const isFull = ({ status, headers }: Response) =>
    status === 429 &&
    headers.get("X-Service-Problem-Code") === "render_queue_full" &&
    headers.get("X-Service-Problem-Cause") === "queue_full";

  itOnStage("the sixth render is refused as by a full backend, and taken once one has been answered", async (stage) => {
    const { object, held, renders } = await fill(stage);
    expect(isFull(await render(object))).toBe(true);
    held[0]?.resolve(new Response("rendered"));
    expect(await (await renders[0])?.text()).toBe("rendered");
    const next = render(object);
    await vi.waitFor(() => expect(held).toHaveLength(6));
    expect(isFull(await render(object))).toBe(true);
    for (const one of held) one.resolve(new Response("rendered"));
    expect((await next).status).toBe(200);
  });

  itOnStage("a render whose client leaves gives its place back", async (stage) => {
    const { object, held, clients, renders } = await fill(stage);
    clients[3]?.abort();
    const next = render(object);
    await vi.waitFor(() => expect(held).toHaveLength(6));
    for (const one of held) one.resolve(new Response("rendered"));
    await Promise.allSettled([...renders, next]);
  });

  itOnStage(
    "to a probe it is full, until nothing was answered for five seconds: then the backend gets it",
    async (stage) => {
      stopClocks();
      // It waits for the renders, which moves the clock a little.
      const { object, held, renders } = await fill(stage);
      expect(isFull(await probe(object))).toBe(true);
      vi.advanceTimersByTime(4000);
      expect(isFull(await probe(object))).toBe(true);
      vi.advanceTimersByTime(2000);
      expect(await (await probe(object)).text()).toBe("probed");
      for (const one of held) one.resolve(new Response("rendered"));
      await Promise.all(renders);
    },
  );

  itOnStage("metrics and readiness are asked for while it is full", async (stage) => {
    const { object, held, renders } = await fill(stage);
    stage.container.answer = () => new Response("own");
    expect(await (await get(object, "/metrics")).text()).toBe("own");
    for (const one of held) one.resolve(new Response("rendered"));
    await Promise.all(renders);
  });
});

describe("while a container starts", () => {
  itOnStage("all renders wait for one start, and to probes it is full", async ({ container, deploy }) => {
    const object = deploy();
    const { promise, resolve } = Promise.withResolvers<Response>();
    container.answer = (request) => (request.url.endsWith("/ready") ? promise : new Response("rendered"));
    const renders = [render(object), render(object)];
    await vi.waitFor(() => expect(container.paths).toEqual(["/ready"]));
    const probed = await probe(object);
    expect([probed.status, probed.headers.get("X-Service-Problem-Code")]).toEqual([429, "render_queue_full"]);
    expect(probed.headers.get("Content-Type")).toBe("application/problem+json");
    expect((await get(object, "/ready")).status).toBe(503);
    resolve(new Response());
    for (const answer of await Promise.all(renders)) expect(await answer.text()).toBe("rendered");
    expect([container.starts.length, container.paths.length]).toEqual([1, 3]);
  });

  itOnStage("it is asked every 100 ms whether it is ready, for two seconds", async ({ container, deploy }) => {
    hastenWaits();
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort());
    const answers: Answer[] = [
      ({ signal }) => Promise.reject(signal.reason),
      () => new Response("draining", { status: 503 }),
      READY,
      () => new Response("rendered"),
    ];
    container.answer = (request) => (answers.shift() ?? READY)(request);
    const beganAt = Date.now();
    expect(await (await render(deploy())).text()).toBe("rendered");
    expect(Date.now() - beganAt).toBe(200);
    expect(timeout.mock.calls).toEqual([[2000], [2000], [2000]]);
  });

  itOnStage("the time that it takes is taken from the render's budget", async ({ container, deploy }) => {
    hastenWaits();
    let left = 0;
    container.answer = () => new Response(null, { status: left-- > 0 ? 503 : 200 });
    const object = deploy();
    const budget = () => container.requests.at(-1)?.headers.get("X-Service-Patience-Milliseconds");
    left = 30;
    await render(object, { "X-Service-Patience-Milliseconds": "55000" });
    expect(budget()).toBe("52000");
    await container.end();
    left = 30;
    await render(object, { "X-Service-Patience-Milliseconds": "1000" });
    expect(budget()).toBe("0");
    await render(object);
    expect(budget()).toBeNull();
  });

  itOnStage("it is given up after 30 s, and may be ready for the next render", async ({ container, deploy }) => {
    hastenWaits();
    const object = deploy();
    container.answer = () => new Response(null, { status: 503 });
    const beganAt = Date.now();
    await expect(render(object)).rejects.toThrow("did not become ready in time");
    expect(Date.now() - beganAt).toBe(30_100);
    container.answer = READY;
    expect((await render(object)).status).toBe(200);
    expect(container.starts).toHaveLength(1);
  });

  itOnStage("it is given up as soon as it has ended", async ({ container, deploy }) => {
    container.answer = async () => {
      await container.end(new Error("exit code 1"));
      throw new Error("connection refused");
    };
    await expect(render(deploy())).rejects.toThrow("the container ended before it was ready");
    expect(container.paths).toEqual(["/ready"]);
  });
});

describe("a container that has been ready", () => {
  itOnStage("is started again with another token after it has ended", async ({ container, deploy }) => {
    const [log, error] = [vi.spyOn(console, "log"), vi.spyOn(console, "error")];
    const object = deploy();
    await render(object);
    const { token } = container;
    await container.end();
    expect(log.mock.calls).toEqual([[{ message: "container ended" }]]);
    expect(await (await get(object, "/metrics")).text()).toBe("");
    await render(object);
    expect(container.starts).toHaveLength(2);
    expect(container.token).not.toBe(token);
    await container.end(new Error("exit code 137"));
    expect(error.mock.calls).toEqual([[{ message: "container failed", error: "Error: exit code 137" }]]);
    await render(object);
    expect(container.starts).toHaveLength(3);
  });

  itOnStage("is asked for readiness after a failure, unless the client left", async ({ container, deploy }) => {
    const object = deploy();
    await render(object);
    const client = new AbortController();
    container.answer = ({ signal }) => {
      const { promise, reject } = Promise.withResolvers<Response>();
      signal.addEventListener("abort", () => reject(new Error("the client has left")));
      client.abort();
      return promise;
    };
    await expect(render(object, {}, client.signal)).rejects.toThrow("the client has left");
    container.answer = () => Promise.reject(new Error("connection reset"));
    await expect(render(object)).rejects.toThrow("connection reset");
    container.answer = READY;
    await render(object);
    expect(container.paths.slice(2)).toEqual(["/v1/render?a=b", "/v1/render?a=b", "/ready", "/v1/render?a=b"]);
    expect(container.starts).toHaveLength(1);
  });
});

describe("at a new deployment", () => {
  itOnStage("a container with other settings is not waited for without end", async ({ container, deploy }) => {
    await render(deploy());
    hastenWaits();
    const beganAt = Date.now();
    await expect(render(deploy({ SERVICE_MAX_OUTPUT_FILES: "7" }))).rejects.toThrow("has not ended yet");
    expect([Date.now() - beganAt, container.starts.length]).toEqual([30_000, 1]);
  });
});

it("the class says what the configuration lacks if it has no container", () =>
  runInDurableObject(env.TEST_OBJECTS.get(env.TEST_OBJECTS.newUniqueId()), (_object, state) => {
    expect(() => new BackendContainer(state, {})).toThrow("[[containers]]");
  }));
