/**
 * How many connections and requests fit into the limit on open files, that of the gate and of workerd alike. workerd ends when it
 * cannot accept a connection, so what the gate lets through must always fit.
 */

/** Program, configuration, logs, control: 26 in Node and 14 in workerd (2026-11-28). The rest is for probes and lookups in DNS. */
const OWN_FILES = 96;
/** In workerd: two for the connection of the gate, two for that to a backend (2026-11-28). */
const FILES_PER_REQUEST = 4;
/** Only for others than renders, so that health checks are answered while renders take all that they may. */
const OTHER_REQUESTS = 32;

/** Each takes the gate some 15 KB. */
const MAX_CONNECTIONS = 16_384;
const MAX_REQUESTS = 8192;

export interface Capacity {
  /** Of clients. */
  readonly connections: number;
  /** In workerd at once. */
  readonly requests: number;
  /** Of these, such as have a body. */
  readonly posts: number;
  /** Of these, renders that wait for an answer. The others are being refused, or their answers are under way. */
  readonly renders: number;
}

/** The least with which the edge starts. */
export const MIN_OPEN_FILES = 512;
/** With fewer than these, 2,000 renders at once, the edge says at its start what it may hold. */
export const FEW_OPEN_FILES = 8192;
/** From here on, more files make nothing larger. */
export const ENOUGH_OPEN_FILES = MAX_REQUESTS * FILES_PER_REQUEST + OWN_FILES;

export function capacityOf(maxOpenFiles: number): Capacity {
  const files = maxOpenFiles - OWN_FILES;
  const requests = Math.min(MAX_REQUESTS, Math.floor(files / FILES_PER_REQUEST));
  // In the gate, a request takes a file beside that of its client.
  const connections = Math.min(MAX_CONNECTIONS, files - requests);
  const posts = requests - OTHER_REQUESTS;
  return { connections, requests, posts, renders: Math.floor(posts / 2) };
}

/** @param limits the text of `/proc/self/limits`. Node has raised its own limit to the hard one, and its children inherit that. */
export function parseMaxOpenFiles(limits: string): number {
  const [, soft = "unlimited"] = /^Max open files\s+(\S+)/m.exec(limits) ?? [];
  return soft === "unlimited" ? ENOUGH_OPEN_FILES : Number(soft);
}
