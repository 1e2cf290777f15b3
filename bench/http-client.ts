/** The HTTP client of the benchmarks. It keeps connections; a bare socket would save 0.1 ms a request (2026-11-27). */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";

const agent = new Agent({ keepAlive: true });

type HeaderFields = Readonly<Record<string, string>>;

export const post = (url: URL, headers: HeaderFields, body: string) => ask(url, headers, body);

/** Sends a request and reads the whole answer. Any other status is an error. @param body null to get something */
export async function ask(url: URL, headers: HeaderFields, body: string | null, statuses = [200]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const method = body === null ? "GET" : "POST";
  request(url, { method, headers, agent }, resolve)
    .on("error", reject)
    .end(body ?? undefined);
  const answer = await promise;
  await once(answer.resume(), "end");
  if (!statuses.includes(answer.statusCode ?? 0)) throw new Error(`${url.pathname}: status ${answer.statusCode}`);
}

export function closeConnections(): void {
  agent.destroy();
}
