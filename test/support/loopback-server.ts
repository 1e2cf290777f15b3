/** Starts and stops the servers of tests on the loopback interface. */
import { once } from "node:events";
import type { Server } from "node:net";
import { LOOPBACK } from "../../scripts/start/local-service.ts";

/**
 * Lets a server listen.
 *
 * @param port 0 takes a free one
 * @returns its URL, with the scheme http.
 */
export async function listenOnLoopback(server: Server, port = 0): Promise<URL> {
  server.listen(port, LOOPBACK);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server of a test has no port");
  return new URL(`http://${LOOPBACK}:${address.port}`);
}

/** Closes an HTTP server with its connections, and waits until the port is free. */
export async function closeServer(server: Server & { closeAllConnections(): void }): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
