/**
 * What an isolate has counted and not yet told a backend. Isolates come and go, and a scrape reaches one of many, so an
 * edge has no metrics of its own: each request to a backend takes along what has been counted meanwhile.
 */
import { BACKEND_TOKEN_HEADER, EDGE_COUNTS_HEADER } from "../../protocol/headers.ts";
import type { Backend } from "../backends/backend.ts";

export class UnreportedCounts {
  #counts = new Map<string, number>();

  /** Names are those of `rules/causes.ts`, so there is a bounded number of them. */
  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  /** The backend, with a report in each request to it. Counts that it does not confirm are reported again. */
  reportThrough({ name, fetch }: Backend, backendToken: string): Backend {
    return {
      name,
      fetch: async (path, init) => {
        if (this.#counts.size === 0) return fetch(path, init);
        const counts = this.#counts;
        this.#counts = new Map();
        const report = new URLSearchParams([...counts].map(([cause, count]) => [cause, String(count)])).toString();
        const headers = new Headers(init.headers);
        headers.set(BACKEND_TOKEN_HEADER, backendToken);
        headers.set(EDGE_COUNTS_HEADER, report);
        let isCounted = false;
        try {
          const response = await fetch(path, { ...init, headers });
          isCounted = response.headers.get(EDGE_COUNTS_HEADER) === report;
          return response;
        } finally {
          if (!isCounted) for (const [name, count] of counts) this.add(name, count);
        }
      },
    };
  }
}
