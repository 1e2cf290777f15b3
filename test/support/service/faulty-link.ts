/** The link to a server, which a test can disturb. The server keeps running and knows nothing of it. */
import { connect, createServer, type Server, type Socket } from "node:net";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { listenOnLoopback } from "../loopback-server.ts";

/**
 * What happens to bytes: they pass; nothing passes, not even the end of a connection; every connection is reset, new
 * ones too; connections are reset, and new ones are accepted, but nothing more happens on them.
 */
export type LinkState = "passes" | "silent" | "resets" | "half-open";

export class FaultyLink {
  readonly #server: Server;
  readonly #port: number;
  readonly #uploadBytesPerSecond: number;
  readonly #pairs = new Set<readonly [Socket, Socket | null]>();
  #state: LinkState = "passes";
  #url: URL | null = null;

  /**
   * @param port of the server that it leads to, on this machine
   * @param uploadBytesPerSecond how fast each connection carries what the client sends
   */
  constructor(port: number, uploadBytesPerSecond = Number.POSITIVE_INFINITY) {
    this.#port = port;
    this.#uploadBytesPerSecond = uploadBytesPerSecond;
    // No end of one side is passed on by itself.
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  async start(): Promise<this> {
    this.#url = await listenOnLoopback(this.#server);
    return this;
  }

  get url(): URL {
    if (this.#url === null) throw new Error("the link has not been started");
    return this.#url;
  }

  set(state: LinkState): void {
    this.#state = state;
    for (const [client, server] of this.#pairs) {
      const isReset = state === "resets" || state === "half-open" || server === null;
      if (isReset) client.resetAndDestroy();
      else if (state === "silent") for (const socket of [client, server]) socket.pause();
      else for (const socket of [client, server]) socket.resume();
    }
  }

  stop(): void {
    for (const [client] of this.#pairs) client.resetAndDestroy();
    this.#server.close();
  }

  #accept(client: Socket): void {
    client.on("error", () => {});
    if (this.#state === "resets") {
      client.resetAndDestroy();
      return;
    }
    if (this.#state !== "passes") {
      this.#remember(client, null);
      return;
    }
    const server = connect({ port: this.#port, host: LOOPBACK, allowHalfOpen: true });
    server.on("error", () => client.resetAndDestroy());
    this.#remember(client, server);
    for (const [from, to, bytesPerSecond] of [
      [client, server, this.#uploadBytesPerSecond],
      [server, client, Number.POSITIVE_INFINITY],
    ] as const) {
      from.on("data", (bytes: Buffer) => {
        to.write(bytes);
        const milliseconds = (bytes.length / bytesPerSecond) * 1000;
        if (milliseconds === 0) return;
        from.pause();
        setTimeout(() => {
          if (this.#state === "passes") from.resume();
        }, milliseconds);
      });
      from.on("end", () => to.end());
    }
  }

  #remember(client: Socket, server: Socket | null): void {
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    client.once("close", () => {
      this.#pairs.delete(pair);
      server?.resetAndDestroy();
    });
    server?.once("close", () => {
      if (this.#state !== "silent") client.destroy();
    });
  }
}
