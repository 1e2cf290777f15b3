/** The edge with containers, which a program of this machine starts: test/support/service/container-launcher.ts. */
import { BackendContainer, type ContainerControl } from "../../edge/platform/cloudflare/backend-container.ts";
import app from "../../edge/platform/cloudflare/worker.ts";

interface Environment {
  readonly [name: string]: unknown;
  readonly LAUNCHER_URL: string;
}

/** Behaves as workerd's: `running` follows `start` at once, and the end only while it is monitored. */
class LaunchedContainer implements ContainerControl {
  running = false;
  readonly #launcher: string;

  constructor(launcher: string) {
    this.#launcher = launcher;
  }

  #ask(action: string, body: unknown = {}): Promise<Response> {
    return fetch(`${this.#launcher}/${action}`, { method: "POST", body: JSON.stringify(body) });
  }

  async findRunning(): Promise<void> {
    this.running = (await this.#ask("running")).ok;
  }

  start(options?: ContainerStartupOptions): void {
    if (this.running) throw new Error("start() cannot be called on a container that is already running.");
    this.running = true;
    void this.#ask("start", options);
  }

  async monitor(): Promise<void> {
    if (!this.running) throw new Error("monitor() cannot be called on a container that is not running.");
    const exitCode = await (await this.#ask("exit")).text();
    this.running = false;
    if (exitCode !== "0") throw new Error(`container exited with unexpected exit code: ${exitCode}`);
  }

  signal(number: number): void {
    void this.#ask("signal", number);
  }

  async setInactivityTimeout(milliseconds: number | bigint): Promise<void> {
    await this.#ask("inactivity-timeout", Number(milliseconds));
  }

  getTcpPort(port: number): Fetcher {
    const fetchThrough = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
      const address = await (await this.#ask("address", port)).text();
      const { pathname, search } = new URL(new Request(input).url);
      return fetch(new URL(pathname + search, address), init);
    };
    const connect = () => {
      throw new Error("nobody connects without HTTP");
    };
    return { fetch: fetchThrough, connect };
  }
}

export class TestContainer extends BackendContainer {
  constructor(context: DurableObjectState, environment: Environment) {
    const container = new LaunchedContainer(`${environment.LAUNCHER_URL}/${context.id.name}`);
    super(context, environment, container);
    void context.blockConcurrencyWhile(() => container.findRunning());
  }
}

export default app;
