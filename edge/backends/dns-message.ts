/**
 * The two messages of DNS (RFC 1035) that the edge exchanges: a question for the SRV records (RFC 2782) of a name, and
 * its answer. A malformed answer is rejected as a whole; a record with a host that no URL can have is skipped.
 */

const HEADER_BYTES = 12;
const MAX_LABEL_BYTES = 63;
const MAX_NAME_BYTES = 255;
const POINTER = 0xc0;
/** Of one name: each stands after a label or before the first. An answer of 64 KB has thousands of names. */
const MAX_POINTERS = 128;
/** From the name that was asked for to that of its records. */
const MAX_ALIASES = 8;
/** Before each message on TCP: its length (RFC 1035, section 4.2.2). */
export const LENGTH_BYTES = 2;

const TIME_TO_LIVE_BYTES = 4;
const PRIORITY_AND_WEIGHT_BYTES = 4;

const TYPE = { A: 1, CNAME: 5, AAAA: 28, SRV: 33 } as const;
const CLASS_IN = 1;

const FLAG = { isResponse: 0x8000, opcode: 0x7800, isTruncated: 0x0200, wantsRecursion: 0x0100, code: 0x000f } as const;
const CODE = { ok: 0, noSuchName: 3 } as const;

const HOST_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
/** URLs take a name that ends in a number for an IPv4 address. */
const ENDS_IN_NUMBER = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

export interface SrvQuestion {
  readonly name: string;
  readonly id: number;
}

export interface SrvRecord {
  readonly host: string;
  readonly port: number;
  /** The host's address, an IPv6 one in brackets as in a URL; null if the answer has none. */
  readonly address: string | null;
}

export type SrvAnswer =
  | { readonly kind: "records"; readonly records: readonly SrvRecord[] }
  /** There is no such name, or it has no usable record. */
  | { readonly kind: "none" }
  | { readonly kind: "failed"; readonly reason: string };

/** Whether a name can be asked for: labels of visible ASCII characters within the limits of DNS. */
export function isDnsName(name: string): boolean {
  const labels = name.split(".");
  const hasOnlyLabels = labels.every((label) => label.length <= MAX_LABEL_BYTES && /^[A-Za-z0-9_-]+$/.test(label));
  return hasOnlyLabels && name.length + 2 <= MAX_NAME_BYTES;
}

/** The question with its length before it, as TCP carries it. @param question names what `isDnsName` accepts. */
export function encodeQuestion({ name, id }: SrvQuestion): Uint8Array<ArrayBuffer> {
  const labels = name.split(".").flatMap((label) => [label.length, ...new TextEncoder().encode(label)]);
  const message = [...bytesOf(id, FLAG.wantsRecursion, 1, 0, 0, 0), ...labels, 0, ...bytesOf(TYPE.SRV, CLASS_IN)];
  return Uint8Array.from([...bytesOf(message.length), ...message]);
}

function bytesOf(...numbers: readonly number[]): number[] {
  return numbers.flatMap((number) => [number >> 8, number & 0xff]);
}

/** Reads the answer to a question. @param message without the length before it */
export function parseAnswer(message: Uint8Array, { name, id }: SrvQuestion): SrvAnswer {
  try {
    return readMessage(new DnsReader(message), name.toLowerCase(), id);
  } catch (error) {
    if (error instanceof MalformedMessage) return { kind: "failed", reason: error.message };
    throw error;
  }
}

function readMessage(reader: DnsReader, asked: string, id: number): SrvAnswer {
  const hasName = readHeader(reader, id);
  const [questions, answers, authorities, additional] = Array.from({ length: 4 }, () => reader.uint16());
  const isSame =
    questions === 1 && reader.name() === asked && reader.uint16() === TYPE.SRV && reader.uint16() === CLASS_IN;
  if (!isSame) throw new MalformedMessage("it is the answer to another question");
  if (!hasName) return { kind: "none" };
  const services: { readonly name: string; readonly host: string; readonly port: number }[] = [];
  const aliases = new Map<string, string>();
  readRecords(reader, answers, (name, type) => {
    if (type === TYPE.SRV) services.push({ name, ...readService(reader) });
    else if (type === TYPE.CNAME) aliases.set(name, reader.name());
  });
  const owner = followAliases(asked, aliases);
  readRecords(reader, authorities, () => {});
  const addresses: { readonly name: string; readonly address: string }[] = [];
  readRecords(reader, additional, (name, type, end) => {
    if (type === TYPE.A || type === TYPE.AAAA) addresses.push({ name, address: readAddress(reader, type, end) });
  });
  const addressesByName = Map.groupBy(addresses, ({ name }) => name);
  const records = services
    .filter(({ name, host, port }) => name === owner && port > 0 && isHostName(host))
    .map(({ host, port }) => {
      // The same one for every edge. IPv4 sorts before the brackets of IPv6.
      const [address = null] = (addressesByName.get(host) ?? []).map((one) => one.address).sort();
      return { host, port, address };
    });
  return records.length > 0 ? { kind: "records", records } : { kind: "none" };
}

/** The name that has no alias; undefined if there are too many. A name server that looks names up adds all of them. */
function followAliases(asked: string, aliases: ReadonlyMap<string, string>): string | undefined {
  let name = asked;
  for (let left = MAX_ALIASES; left >= 0; left--) {
    const target = aliases.get(name);
    if (target === undefined) return name;
    name = target;
  }
  return undefined;
}

/** Reads id and flags. @returns whether there is such a name */
function readHeader(reader: DnsReader, id: number): boolean {
  if (reader.uint16() !== id) throw new MalformedMessage("it is the answer to another question");
  const flags = reader.uint16();
  const isAnswer = (flags & FLAG.isResponse) !== 0 && (flags & FLAG.opcode) === 0;
  if (!isAnswer) throw new MalformedMessage("it is no answer");
  if ((flags & FLAG.isTruncated) !== 0) {
    throw new MalformedMessage("the answer is truncated: there are too many records");
  }
  const code = flags & FLAG.code;
  if (code === CODE.ok || code === CODE.noSuchName) return code === CODE.ok;
  throw new MalformedMessage(`the name server answers with code ${code}`);
}

/** Bounded: each record takes bytes of the message. @param read reads the data of a record, or some of it */
function readRecords(reader: DnsReader, count = 0, read: (name: string, type: number, end: number) => void): void {
  for (let left = count; left > 0; left--) {
    const name = reader.name();
    const [type, dnsClass] = [reader.uint16(), reader.uint16()];
    reader.skip(TIME_TO_LIVE_BYTES);
    const length = reader.uint16();
    const end = reader.at + length;
    if (dnsClass === CLASS_IN) read(name, type, end);
    reader.moveTo(end);
  }
}

function readService(reader: DnsReader): { host: string; port: number } {
  // The edge chooses by load.
  reader.skip(PRIORITY_AND_WEIGHT_BYTES);
  const port = reader.uint16();
  return { port, host: reader.name() };
}

function readAddress(reader: DnsReader, type: typeof TYPE.A | typeof TYPE.AAAA, end: number): string {
  const length = type === TYPE.A ? 4 : 16;
  if (end - reader.at !== length) throw new MalformedMessage("an address has another length");
  if (type === TYPE.A) return [...reader.bytes(length)].join(".");
  const groups = Array.from({ length: 8 }, () => reader.uint16().toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname;
}

function isHostName(host: string): boolean {
  return isDnsName(host) && host.split(".").every((label) => HOST_LABEL.test(label)) && !ENDS_IN_NUMBER.test(host);
}

class MalformedMessage extends Error {}

/** Reads the parts of a message (section 4.1) one after another, within its bytes. */
class DnsReader {
  readonly #message: Uint8Array;
  #at = 0;

  constructor(message: Uint8Array) {
    this.#message = message;
    if (message.length < HEADER_BYTES) throw new MalformedMessage("the answer is too short");
  }

  get at(): number {
    return this.#at;
  }

  bytes(count: number): Uint8Array {
    const from = this.#at;
    this.moveTo(from + count);
    return this.#message.subarray(from, from + count);
  }

  uint16(): number {
    const [high = 0, low = 0] = this.bytes(2);
    return (high << 8) | low;
  }

  skip(count: number): void {
    this.moveTo(this.#at + count);
  }

  moveTo(at: number): void {
    if (at < this.#at || at > this.#message.length) throw new MalformedMessage("the answer ends within a record");
    this.#at = at;
  }

  /** A name in lower case, without a dot at the end. Bytes other than those of host names and `_` become `?`. */
  name(): string {
    const labels: string[] = [];
    let at = this.#at;
    let end: number | null = null;
    let before = at;
    let length = 1;
    let pointers = 0;
    // Bounded: pointers have a maximum, and labels a maximum sum.
    for (;;) {
      const first = this.#byte(at);
      if ((first & POINTER) === POINTER) {
        const target = ((first & ~POINTER) << 8) | this.#byte(at + 1);
        end ??= at + 2;
        if (target >= before || ++pointers > MAX_POINTERS) throw new MalformedMessage("a name does not end");
        before = at = target;
        continue;
      }
      if (first > MAX_LABEL_BYTES) throw new MalformedMessage("a label is too long");
      if (first === 0) break;
      length += first + 1;
      if (length > MAX_NAME_BYTES) throw new MalformedMessage("a name is too long");
      labels.push(this.#label(at + 1, first));
      at += first + 1;
    }
    this.moveTo(end ?? at + 1);
    return labels.join(".");
  }

  #byte(at: number): number {
    const byte = this.#message[at];
    if (byte === undefined) throw new MalformedMessage("the answer ends within a name");
    return byte;
  }

  #label(from: number, length: number): string {
    if (from + length > this.#message.length) throw new MalformedMessage("the answer ends within a name");
    const text = String.fromCharCode(...this.#message.subarray(from, from + length)).toLowerCase();
    // A dot within a label must not look like the end of one.
    return text.replace(/[^a-z0-9_-]/g, "?");
  }
}
