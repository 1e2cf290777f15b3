/**
 * What `--verbose` prints for each exchange with the service: the attempt, the answer, its request id, and the servers
 * on its way.
 */
import { REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import type { Fetch } from "../typescript/client.ts";
import { sizeInWords } from "../typescript/size-in-words.ts";

/** Header fields that name the servers on the way, and how long each step took. */
const HOP_FIELDS = ["Server-Timing", "Via", "Server", "CF-Ray", "Retry-After"];

export function tellingFetch(tell: (line: string) => void): Fetch {
  const tries = new Map<string, number>();
  return async (input, init) => {
    const request = `${init?.method ?? "GET"} ${String(input)}`;
    const count = (tries.get(request) ?? 0) + 1;
    tries.set(request, count);
    const body = init?.body instanceof Uint8Array ? ` with ${sizeInWords(init.body.length)}` : "";
    const startMilliseconds = performance.now();
    const after = () => `after ${Math.round(performance.now() - startMilliseconds)} ms`;
    try {
      const response = await fetch(input, init);
      const { headers, status } = response;
      const id = headers.get(REQUEST_ID_HEADER);
      const hops = HOP_FIELDS.flatMap((name) => {
        const value = headers.get(name);
        return value === null ? [] : [`${name}: ${value}`];
      });
      const parts = [`${status} ${after()}`, ...(id === null ? [] : [`request id ${id}`]), ...hops];
      tell(`try ${count}, ${request}${body}: ${parts.join("; ")}`);
      return response;
    } catch (error) {
      tell(`try ${count}, ${request}${body}: no answer ${after()}`);
      throw error;
    }
  };
}
