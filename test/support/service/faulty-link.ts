/** The link to a server, which a test can disturb. The server keeps running and knows nothing of it. */
import { connect, createServer, type Socket } from "node:net";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { listenOnLoopback } from "../loopback-server.ts";

/**
 * What happens to bytes: they pass; nothing passes, not even the end of a connection; connections are reset, and new ones
 * are accepted, but nothing more happens on them.
 */
export type LinkState = "passes" | "silent" | "half-open";

/**
 * @param port of the server that it leads to, on this machine
 * @param uploadBytesPerSecond how fast each connection carries what the client sends
 * @param delayMilliseconds how long everything is on its way, in both directions
 */
export async function startFaultyLink(
  port: number,
  { uploadBytesPerSecond = Number.POSITIVE_INFINITY, delayMilliseconds = 0 } = {},
) {
  const pairs = new Set<readonly [Socket, Socket | null]>();
  let state: LinkState = "passes";

  function later(act: () => void): void {
    if (delayMilliseconds === 0) act();
    else setTimeout(act, delayMilliseconds);
  }

  function remember(client: Socket, server: Socket | null): void {
    const pair = [client, server] as const;
    pairs.add(pair);
    client.once("close", () => {
      pairs.delete(pair);
      server?.resetAndDestroy();
    });
    server?.once("close", () => {
      if (state !== "silent") later(() => client.destroy());
    });
  }

  function pass(from: Socket, to: Socket, bytesPerSecond: number): void {
    from.on("data", (bytes: Buffer) => {
      later(() => to.write(bytes));
      const milliseconds = (bytes.length / bytesPerSecond) * 1000;
      if (milliseconds === 0) return;
      from.pause();
      setTimeout(() => {
        if (state === "passes") from.resume();
      }, milliseconds);
    });
    from.on("end", () => later(() => to.end()));
  }

  // No end of one side is passed on by itself.
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => {});
    if (state !== "passes") {
      remember(client, null);
      return;
    }
    const server = connect({ port, host: LOOPBACK, allowHalfOpen: true });
    server.on("error", () => client.resetAndDestroy());
    remember(client, server);
    pass(client, server, uploadBytesPerSecond);
    pass(server, client, Number.POSITIVE_INFINITY);
  });

  return {
    url: await listenOnLoopback(listener),
    set: (next: LinkState) => {
      state = next;
      for (const [client, server] of pairs) {
        if (state === "half-open" || server === null) client.resetAndDestroy();
        else if (state === "silent") for (const socket of [client, server]) socket.pause();
        else for (const socket of [client, server]) socket.resume();
      }
    },
    stop: () => {
      for (const [client] of pairs) client.resetAndDestroy();
      listener.close();
    },
  };
}
