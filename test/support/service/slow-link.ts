/** A slow link to a server, which knows nothing of it. */
import { connect, createServer, type Socket } from "node:net";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { listenOnLoopback } from "../loopback-server.ts";

/**
 * @param port of the server that it leads to, on this machine
 * @param uploadBytesPerSecond how fast each connection carries what the client sends
 * @param delayMilliseconds how long everything is on its way, in both directions
 */
export async function startSlowLink(
  port: number,
  { uploadBytesPerSecond = Number.POSITIVE_INFINITY, delayMilliseconds = 0 } = {},
) {
  const clients = new Set<Socket>();

  function later(act: () => void): void {
    if (delayMilliseconds === 0) act();
    else setTimeout(act, delayMilliseconds);
  }

  function pass(from: Socket, to: Socket, bytesPerSecond: number): void {
    from.on("data", (bytes: Buffer) => {
      later(() => to.write(bytes));
      const milliseconds = (bytes.length / bytesPerSecond) * 1000;
      if (milliseconds === 0) return;
      from.pause();
      setTimeout(() => from.resume(), milliseconds);
    });
    from.on("end", () => later(() => to.end()));
  }

  // No end of one side is passed on by itself.
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => {});
    clients.add(client);
    const server = connect({ port, host: LOOPBACK, allowHalfOpen: true });
    server.on("error", () => client.resetAndDestroy());
    client.once("close", () => {
      clients.delete(client);
      server.resetAndDestroy();
    });
    server.once("close", () => later(() => client.destroy()));
    pass(client, server, uploadBytesPerSecond);
    pass(server, client, Number.POSITIVE_INFINITY);
  });

  return {
    url: await listenOnLoopback(listener),
    stop: () => {
      for (const client of clients) client.resetAndDestroy();
      listener.close();
    },
  };
}
