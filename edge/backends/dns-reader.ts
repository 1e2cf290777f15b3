/** Reads the parts of a DNS message (RFC 1035, section 4.1) one after another, within its bytes. No I/O. */

const HEADER_BYTES = 12;
export const MAX_LABEL_BYTES = 63;
/** With a length before each label and the root's at the end. */
export const MAX_NAME_BYTES = 255;
/** The two bits that tell a pointer to an earlier name from a length. */
const POINTER = 0xc0;

export class MalformedMessage extends Error {}

export class DnsReader {
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

  /** Forwards only. */
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
    // Bounded: pointers go backwards only, and labels have a maximum sum.
    for (;;) {
      const first = this.#byte(at);
      if ((first & POINTER) === POINTER) {
        const target = ((first & ~POINTER) << 8) | this.#byte(at + 1);
        end ??= at + 2;
        if (target >= before) throw new MalformedMessage("a name does not end");
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
