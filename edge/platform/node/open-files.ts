/** How many connections and requests fit into the limit on open files: with none left, no backend could be reached. */

/** Program, logs, lookups in DNS. */
const OWN_FILES = 96;
/** Questions and probes to backends beside renders. */
const SIDE_REQUESTS = 32;
/** Only for health checks, and only for documents of the edge: they are answered whatever else is under way. */
const HEALTH_CHECKS = 16;
const DOCUMENTS = 32;

/** Each takes some 15 KB. */
const MAX_CONNECTIONS = 16_384;
const MAX_RENDERS = 4096;
const MAX_STATIC_FILES = 256;
const MAX_IDLE_TO_BACKENDS = 256;

/** What each kind of request may have under way, from its head to the last byte of its answer. */
export type RequestKind = "render" | "file" | "health" | "document";

export interface Capacity {
  /** Of clients. */
  readonly connections: number;
  readonly requests: Readonly<Record<RequestKind, number>>;
  /** Renders that may wait for a backend. The other half is for uploads that are refused and for answers being sent. */
  readonly waitingRenders: number;
  readonly idleToBackends: number;
  readonly toBackends: number;
}

/** The least with which the edge starts. */
export const MIN_OPEN_FILES = 512;
/** With fewer than these, 2,000 renders at once, the edge says at its start what it may hold. */
export const FEW_OPEN_FILES = 8192;
/** From here on, more files make nothing larger. */
export const ENOUGH_OPEN_FILES = 4 * MAX_RENDERS + MAX_CONNECTIONS;

export function capacityOf(maxOpenFiles: number): Capacity {
  const files = maxOpenFiles - OWN_FILES;
  const render = Math.min(MAX_RENDERS, Math.floor(files * 0.3));
  const file = Math.min(MAX_STATIC_FILES, Math.floor(files / 16));
  const idleToBackends = Math.min(MAX_IDLE_TO_BACKENDS, Math.floor(files / 16));
  // A render takes a file for its backend, and a static file one for itself, beside that of the client.
  const toBackends = render + idleToBackends + SIDE_REQUESTS;
  return {
    connections: Math.min(MAX_CONNECTIONS, files - toBackends - file),
    requests: { render, file, health: HEALTH_CHECKS, document: DOCUMENTS },
    waitingRenders: Math.floor(render / 2),
    idleToBackends,
    toBackends,
  };
}

/** @param limits the text of `/proc/self/limits`. Node has raised its own limit to the hard one. */
export function parseMaxOpenFiles(limits: string): number {
  const [, soft = "unlimited"] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
  return soft === "unlimited" ? ENOUGH_OPEN_FILES : Number(soft);
}
