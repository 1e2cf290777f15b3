/**
 * The constraints of the deployment: fetched once, and compared by their entity tag when they are old. Requests under
 * way are not shared: in a Worker, one request must not wait for what another one fetches.
 */
import type { PublishedConstraints } from "../../rules/published-rules.ts";
import { UnexpectedResponseError } from "./errors.ts";
import type { SendResult, ServiceRequest } from "./transport.ts";
import { mediaType, readJson } from "./transport.ts";

/** The constraints with the entity tag under which the service published them. */
export interface StoredConstraints {
  readonly etag: string;
  /** The document as it was received. */
  readonly document: unknown;
}

/**
 * Keeps the constraints beyond the life of a client, in a file or in `sessionStorage`. What it throws is thrown by the
 * method of the client that was called.
 */
export interface ConstraintsStore {
  load(): StoredConstraints | null | Promise<StoredConstraints | null>;
  save(constraints: StoredConstraints): void | Promise<void>;
}

/** How long constraints are used without asking whether they are still valid. A deployment rarely changes. */
const MAX_AGE_SECONDS = 300;
/** The constraints have 90 KB with their conformance vectors. */
const MAX_CONSTRAINTS_BYTES = 4 * 1024 * 1024;
/** The most that any deployment can set as `max_output_bytes` (rules/limits.ts). */
export const MAX_OUTPUT_BYTES = 512 * 1024 * 1024;

interface Kept {
  readonly kind: "constraints";
  readonly constraints: PublishedConstraints;
  /** Null if the service sent none. */
  readonly etag: string | null;
  /** On the clock of `performance.now()`. */
  validUntilMilliseconds: number;
}

export type ConstraintsOutcome =
  | { readonly kind: "constraints"; readonly constraints: PublishedConstraints }
  | Exclude<SendResult<never>, { readonly kind: "answer" }>;

interface Fetched {
  readonly status: number;
  readonly document: unknown;
  readonly etag: string | null;
}

export class ConstraintsCache {
  readonly #store: ConstraintsStore | undefined;
  #kept: Kept | null = null;
  #hasLoaded = false;

  constructor(store: ConstraintsStore | undefined) {
    this.#store = store;
  }

  /** A limit that was fetched long ago does not bound a file: the operator may have raised it. */
  get maxOutputBytes(): number {
    if (this.#kept === null || performance.now() >= this.#kept.validUntilMilliseconds) return MAX_OUTPUT_BYTES;
    return Math.min(this.#kept.constraints.limits.max_output_bytes ?? MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES);
  }

  /** @throws UnexpectedResponseError when the response is not such a document */
  async get(send: (request: ServiceRequest<Fetched>) => Promise<SendResult<Fetched>>): Promise<ConstraintsOutcome> {
    await this.#load();
    const kept = this.#kept;
    if (kept !== null && performance.now() < kept.validUntilMilliseconds) return kept;
    const answer = await send({
      method: "GET",
      path: "v1/constraints",
      headers: kept?.etag == null ? {} : { "If-None-Match": kept.etag },
      read: async (response, url, silence) => ({
        status: response.status,
        document: await silence.during(readDocument(response, url)),
        etag: response.headers.get("ETag"),
      }),
    });
    if (answer.kind !== "answer") return answer;
    const { status, document, etag } = answer.value;
    if (status === 304 && kept !== null) {
      kept.validUntilMilliseconds = performance.now() + MAX_AGE_SECONDS * 1000;
      return kept;
    }
    const fetched = await keep(document, etag, MAX_AGE_SECONDS);
    if (fetched === null) throw new UnexpectedResponseError("The response has no constraints.", status);
    this.#kept = fetched;
    if (etag !== null) await this.#store?.save({ etag, document });
    return fetched;
  }

  /** Loads what the store has as out of date, so that the service is asked whether it has changed. */
  async #load(): Promise<void> {
    if (this.#hasLoaded || this.#store === undefined) return;
    this.#hasLoaded = true;
    const stored = await this.#store.load();
    if (stored !== null) this.#kept ??= await keep(stored.document, stored.etag, 0);
  }
}

/** Undefined if the response is not JSON. */
async function readDocument(response: Response, url: URL): Promise<unknown> {
  if (mediaType(response.headers) === "application/json") return readJson(response, url, MAX_CONSTRAINTS_BYTES);
  await response.body?.cancel();
  return undefined;
}

async function keep(document: unknown, etag: string | null, validSeconds: number): Promise<Kept | null> {
  const { asConstraints } = await import("./local-check.ts");
  const constraints = asConstraints(document);
  if (constraints === null) return null;
  return { kind: "constraints", constraints, etag, validUntilMilliseconds: performance.now() + validSeconds * 1000 };
}
