/** What is asked of backends beside renders, and what they are told with every request. */
import { BACKEND_TOKEN_HEADER, EDGE_COUNTS_HEADER } from "../../protocol/headers.ts";
import { WALL_CLOCK } from "../clock.ts";
import type { Backend } from "../platform/platform.ts";

/**
 * What an isolate has counted and not yet told a backend. A scrape reaches one isolate of many, so an edge has no
 * metrics of its own: each request to a backend takes along what has been counted meanwhile.
 */
export class UnreportedCounts {
  #counts = new Map<string, number>();

  /** Names are those of `rules/causes.ts`, so there is a bounded number of them. */
  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  /** The backend, with a report in each request to it. Counts that it does not confirm are reported again. */
  reportThrough(backend: Backend, backendToken: string): Backend {
    return {
      name: backend.name,
      send: async (request) => {
        if (this.#counts.size === 0) return backend.send(request);
        const counts = this.#counts;
        this.#counts = new Map();
        const report = new URLSearchParams([...counts].map(([cause, count]) => [cause, String(count)])).toString();
        const own = { [BACKEND_TOKEN_HEADER]: backendToken, [EDGE_COUNTS_HEADER]: report };
        let isCounted = false;
        try {
          const answer = await backend.send({ ...request, headers: { ...request.headers, ...own } });
          isCounted = answer.headers.get(EDGE_COUNTS_HEADER) === report;
          return answer;
        } finally {
          if (!isCounted) for (const [name, count] of counts) this.add(name, count);
        }
      },
    };
  }
}

/** A small document, bounded in size and time; null without one. */
export async function fetchText(
  backend: Backend,
  path: string,
  { maxBytes, timeoutMilliseconds }: { readonly maxBytes: number; readonly timeoutMilliseconds: number },
): Promise<string | null> {
  const deadline = WALL_CLOCK.now() + timeoutMilliseconds;
  try {
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    const answer = await backend.send({ method: "GET", path, headers: {}, body: null, signal });
    const text = await answer.readText(maxBytes, deadline);
    return answer.status >= 200 && answer.status < 300 ? text : null;
  } catch {
    return null;
  }
}
