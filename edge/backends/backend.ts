/** What is asked of backends beside renders, and what they are told with every request. */
import { formatEdgeReport } from "../../protocol/edge-counts.ts";
import { BACKEND_TOKEN_HEADER, EDGE_COUNTS_HEADER } from "../../protocol/headers.ts";
import { MONOTONIC_CLOCK } from "../clock.ts";
import type { Backend } from "../platform/platform.ts";

/**
 * What the edge counts of its own answers, since its start. Where it runs in many isolates, whose counts nobody could gather, it
 * tells them to backends, which live long: each count to the next backend that is asked anything, and again until one confirms it.
 */
export class EdgeCounts {
  #counts = new Map<string, number>();

  /** @param name one of `EDGE_COUNTS`, so there is a bounded number of them */
  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** The backend, with a report in each request to it. What it confirms is no longer counted here. */
  reportThrough(backend: Backend, backendToken: string): Backend {
    return {
      name: backend.name,
      send: async (request) => {
        if (this.#counts.size === 0) return backend.send(request);
        const counts = this.#counts;
        this.#counts = new Map();
        const report = formatEdgeReport(counts);
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
  const deadline = MONOTONIC_CLOCK.now() + timeoutMilliseconds;
  try {
    const signal = AbortSignal.timeout(timeoutMilliseconds);
    const answer = await backend.send({ method: "GET", path, headers: {}, body: null, signal });
    const text = await answer.readText(maxBytes, deadline);
    return answer.status >= 200 && answer.status < 300 ? text : null;
  } catch {
    return null;
  }
}
