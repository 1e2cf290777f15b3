/** The HTTP client of the benchmarks. It shares the machine and must cost little, so it is plain node:http with kept connections. */
import { Agent, request } from "node:http";

const agent = new Agent({ keepAlive: true });

/** Reads the body of the answer. Any status but 200 is an error. */
export function ask(
  url: URL,
  method: "GET" | "POST",
  headers: Readonly<Record<string, string>>,
  body?: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const call = request(url, { method, agent, headers: { ...headers } }, (answer) => {
    answer.resume().on("end", () => {
      if (answer.statusCode === 200) resolve();
      else reject(new Error(`${url.pathname}: ${answer.statusCode}`));
    });
  });
  call.on("error", reject).end(body);
  return promise;
}

/** Closes the connections that are kept. */
export function closeConnections(): void {
  agent.destroy();
}
