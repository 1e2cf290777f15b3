/** What DNS says of where backends are, and the names that may be asked for and connected to. */

const MAX_NAME_BYTES = 255;
const MAX_LABEL_BYTES = 63;
/** RFC 1123, section 2.1, in lower case. */
const HOST_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
/** A URL with such a host has an IPv4 address, or is not valid. */
const ENDS_IN_NUMBER = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

export interface SrvRecord {
  readonly host: string;
  readonly port: number;
  /** The host's address, an IPv6 one in brackets as in a URL; null if none is known. */
  readonly address: string | null;
}

/** The usable records of a name, none if there is no such name, or why they are not known. */
export type SrvAnswer = readonly SrvRecord[] | string;

/** Whether a name can be asked for: labels of visible ASCII characters within the limits of DNS. */
export function isDnsName(name: string): boolean {
  const labels = name.split(".");
  const hasOnlyLabels = labels.every((label) => label.length <= MAX_LABEL_BYTES && /^[A-Za-z0-9_-]+$/.test(label));
  return hasOnlyLabels && name.length + 2 <= MAX_NAME_BYTES;
}

export function isHostName(host: string): boolean {
  return isDnsName(host) && host.split(".").every((label) => HOST_LABEL.test(label)) && !ENDS_IN_NUMBER.test(host);
}
