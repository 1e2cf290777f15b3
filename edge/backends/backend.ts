/** What is asked of backends beside renders, and what they are told with every request. */
import { formatEdgeReport } from "../../protocol/edge-counts.ts";
import { BACKEND_TOKEN_HEADER, EDGE_COUNTS_HEADER } from "../../protocol/headers.ts";
import { MONOTONIC_CLOCK, waitAtMost } from "../clock.ts";
import type { Backend, BackendAnswer, BackendRequest, PassedBody } from "../platform/platform.ts";

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

interface Bounds {
  readonly maxBytes: number;
  readonly timeoutMilliseconds: number;
}

/** Asks a backend for something short. The text is null if it is longer, or does not come in time. Rejects if no answer begins. */
export async function ask(
  backend: Backend,
  request: Omit<BackendRequest, "signal">,
  { maxBytes, timeoutMilliseconds }: Bounds,
): Promise<{ readonly answer: BackendAnswer; readonly text: string | null }> {
  const deadline = MONOTONIC_CLOCK.now() + timeoutMilliseconds;
  const answer = await backend.send({ ...request, signal: AbortSignal.timeout(timeoutMilliseconds) });
  return { answer, text: answer.body === null ? "" : await readText(answer.body, maxBytes, deadline) };
}

async function readText(body: PassedBody, maxBytes: number, deadline: number): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; bytes <= maxBytes; ) {
    const piece = await waitAtMost(body.next(), deadline - MONOTONIC_CLOCK.now());
    if (piece === null) return text + decoder.decode();
    if (piece === "late") break;
    bytes += piece.length;
    text += decoder.decode(piece, { stream: true });
  }
  body.discard();
  return null;
}

/** A document of a backend; null without one. */
export async function fetchText(backend: Backend, path: string, bounds: Bounds): Promise<string | null> {
  try {
    const { answer, text } = await ask(backend, { method: "GET", path, headers: {}, body: null }, bounds);
    return answer.status >= 200 && answer.status < 300 ? text : null;
  } catch {
    return null;
  }
}
