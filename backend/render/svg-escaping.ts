/**
 * Completes the escaping of the SVG that Typst writes, so that every SVG that leaves is well-formed XML.
 *
 * Typst 0.15.1 writes elements and attributes, never text, and escapes nothing but `"` (typst #8672). A document can put
 * any text into three attributes (read in typst-svg): `href` and `xlink:href` of a link's `<a>`, and `data-typst-label`
 * of a labelled box or block. All others hold numbers, colours, paths, hashes and Base64. So the place says what still
 * has to be escaped, and nothing is guessed: `&amp;` in a link target is what the author wrote, and becomes `&amp;amp;`.
 *
 * Bytes in, bytes out, no I/O. For this release of Typst only: one that escapes these attributes would be escaped twice.
 */
/** Outside the values of these three attributes, both are always what they look like: no other value can hold them. */
const LINK_TAG = Buffer.from("<a ");
/** Without the space before it, which is everywhere: the search takes a fifth of the time. */
const LABEL_ATTRIBUTE = Buffer.from('data-typst-label="');
const MARKUP_TOKENS = [LINK_TAG, LABEL_ATTRIBUTE];

/** The one reference that Typst writes. An author's own `&quot;` looks the same, and stays as well. */
const QUOTE_REFERENCE = Buffer.from("&quot;");
const U_FFFE = Buffer.from("\ufffe");
const U_FFFF = Buffer.from("\uffff");
const VALUE_TOKENS = [QUOTE_REFERENCE, U_FFFE, U_FFFF];

const QUOTE = 0x22;
const AMPERSAND = 0x26;
const LESS_THAN = 0x3c;
const GREATER_THAN = 0x3e;
const FIRST_PRINTABLE = 0x20;
const FIRST_BYTE_OF_U_FFFE = 0xef;

/** The most bytes that take the place of one: `&` becomes `&amp;`. */
const MAX_GROWTH = 5;

const NOTHING = Buffer.alloc(0);

type ValueKind = "link-target" | "label";

/** What takes the place of a character that may not stand in a value, by the last byte of the character. */
type Replacements = readonly (Buffer | undefined)[];

/**
 * What XML 1.0 cannot hold at all is percent-encoded in a link target, as a browser does it in a URL, and becomes U+FFFD
 * in a label. Tabs and line ends become references: as they are, a reader takes them for spaces.
 */
const REPLACEMENTS: Readonly<Record<ValueKind, Replacements>> = {
  "link-target": replacements(encodeURIComponent),
  label: replacements(() => "\ufffd"),
};

function replacements(replaceForbidden: (character: string) => string): Replacements {
  const table: Buffer[] = [];
  for (let code = 0; code < FIRST_PRINTABLE; code++) {
    const character = String.fromCharCode(code);
    table[code] = Buffer.from(/[\t\n\r]/.test(character) ? `&#${code};` : replaceForbidden(character));
  }
  for (const character of [U_FFFE, U_FFFF]) {
    table[character.readUInt8(character.length - 1)] = Buffer.from(replaceForbidden(character.toString()));
  }
  table[AMPERSAND] = Buffer.from("&amp;");
  table[LESS_THAN] = Buffer.from("&lt;");
  return table;
}

/** Escapes one SVG of Typst's on its way, wherever it is cut. */
export async function* escapeSvg(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const escaper = new SvgEscaper();
  for await (const chunk of chunks) yield* escaper.push(chunk);
  yield* escaper.end();
}

/** Escapes one SVG of Typst's that comes in chunks, wherever they are cut. */
export class SvgEscaper {
  #place: "markup" | "link-tag" | ValueKind = "markup";
  /** The last bytes of the chunks so far, where they may begin something that the next chunk completes. */
  #held: Buffer = NOTHING;
  /** Where a chunk is rewritten, for one after the other: new memory for each would cost more than the rewriting. */
  #scratch: Buffer = NOTHING;
  #hasChanged = false;

  /** Whether any byte was escaped so far. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /**
   * Takes the next chunk and gives what can be sent on, in pieces: at most five times as many bytes. Up to 17 bytes are
   * kept for the next call. Long stretches without anything to escape are the chunk's own memory, not copies.
   */
  push(chunk: Buffer): Buffer[] {
    const input = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    return this.#escape(input, true);
  }

  /** Gives what is left. */
  end(): Buffer[] {
    const input = this.#held;
    this.#held = NOTHING;
    return this.#escape(input, false);
  }

  #escape(input: Buffer, isMoreToCome: boolean): Buffer[] {
    const links = new TokenSearch(input, LINK_TAG);
    const labels = new TokenSearch(input, LABEL_ATTRIBUTE);
    const rewritten = new RewrittenBytes(input, (bytes) => this.#takeScratch(bytes));
    let position = 0;
    while (position < input.length - this.#held.length) {
      switch (this.#place) {
        case "markup": {
          const link = links.next(position);
          const label = labels.next(position);
          if (link === label) {
            // Neither is there.
            if (isMoreToCome) this.#held = unfinishedToken(input.subarray(position), MARKUP_TOKENS);
            position = input.length;
          } else if (link < label) {
            this.#place = "link-tag";
            position = link + LINK_TAG.length;
          } else {
            this.#place = "label";
            position = label + LABEL_ATTRIBUTE.length;
          }
          break;
        }
        case "link-tag": {
          // Its other attribute is a transformation, in which there is nothing to escape.
          const byte = input[position];
          if (byte === QUOTE) this.#place = "link-target";
          else if (byte === GREATER_THAN) this.#place = "markup";
          position++;
          break;
        }
        case "link-target":
        case "label": {
          const quote = input.indexOf(QUOTE, position);
          const isClosed = quote !== -1;
          if (!isClosed && isMoreToCome) this.#held = unfinishedToken(input.subarray(position), VALUE_TOKENS);
          const end = isClosed ? quote : input.length - this.#held.length;
          escapeValue(rewritten, position, end, REPLACEMENTS[this.#place]);
          position = isClosed ? quote + 1 : end;
          if (isClosed) this.#place = this.#place === "label" ? "markup" : "link-tag";
          break;
        }
      }
    }
    this.#hasChanged ||= rewritten.hasChanged;
    return rewritten.upTo(input.length - this.#held.length);
  }

  #takeScratch(bytes: number): Buffer {
    if (this.#scratch.length < bytes) this.#scratch = Buffer.allocUnsafeSlow(bytes);
    return this.#scratch;
  }
}

/** Where a token stands next, each stretch of the input searched only once. */
class TokenSearch {
  readonly #input: Buffer;
  readonly #token: Buffer;
  #found = -1;

  constructor(input: Buffer, token: Buffer) {
    this.#input = input;
    this.#token = token;
  }

  /** The first place from `position` on, which never goes back; infinite where there is none. */
  next(position: number): number {
    if (this.#found < position) {
      const index = this.#input.indexOf(this.#token, position);
      this.#found = index === -1 ? Number.POSITIVE_INFINITY : index;
    }
    return this.#found;
  }
}

/** Shorter stretches between two replacements are copied: many small pieces would cost more. */
const MIN_PIECE_BYTES = 1024;

/** Bytes with some of them replaced, from the first to the last. */
class RewrittenBytes {
  readonly input: Buffer;
  /** Gives the memory in which stretches with replacements are put together: enough for the largest result. */
  readonly #takeScratch: (bytes: number) => Buffer;
  readonly #pieces: Buffer[] = [];
  #scratch: Buffer | null = null;
  #scratchLength = 0;
  /** Up to here the input is in the pieces or the scratch memory. */
  #copied = 0;

  constructor(input: Buffer, takeScratch: (bytes: number) => Buffer) {
    this.input = input;
    this.#takeScratch = takeScratch;
  }

  get hasChanged(): boolean {
    return this.#scratch !== null;
  }

  replace(start: number, end: number, replacement: Buffer): void {
    this.#scratch ??= this.#takeScratch(this.input.length * MAX_GROWTH);
    if (start - this.#copied >= MIN_PIECE_BYTES) this.#addUnchanged(start);
    else this.#scratchLength += copyBytes(this.input, this.#copied, start, this.#scratch, this.#scratchLength);
    this.#scratchLength += copyBytes(replacement, 0, replacement.length, this.#scratch, this.#scratchLength);
    this.#copied = end;
  }

  /** The result up to a place in the input. */
  upTo(end: number): Buffer[] {
    this.#addUnchanged(end);
    return this.#pieces;
  }

  #addUnchanged(end: number): void {
    if (this.#scratch !== null && this.#scratchLength > 0) {
      this.#pieces.push(Buffer.from(this.#scratch.subarray(0, this.#scratchLength)));
      this.#scratchLength = 0;
    }
    if (end > this.#copied) this.#pieces.push(this.input.subarray(this.#copied, end));
    this.#copied = end;
  }
}

/** A call into native code costs as much as so many bytes one by one. */
const SHORT_COPY_BYTES = 32;

function copyBytes(source: Buffer, start: number, end: number, target: Buffer, targetStart: number): number {
  if (end - start > SHORT_COPY_BYTES) return source.copy(target, targetStart, start, end);
  for (let index = start; index < end; index++) target[targetStart + index - start] = source[index] ?? 0;
  return end - start;
}

/** The longest end of `bytes` that begins one of the tokens and does not complete it. */
function unfinishedToken(bytes: Buffer, tokens: readonly Buffer[]): Buffer {
  const longest = Math.max(...tokens.map(({ length }) => length)) - 1;
  for (let size = Math.min(longest, bytes.length); size > 0; size--) {
    const end = bytes.subarray(bytes.length - size);
    if (tokens.some((token) => size < token.length && end.equals(token.subarray(0, size)))) return end;
  }
  return NOTHING;
}

/** Replaces what may not stand in a value, which is the input from `start` to `end`. */
function escapeValue(rewritten: RewrittenBytes, start: number, end: number, table: Replacements): void {
  const { input } = rewritten;
  for (let index = start; index < end; index++) {
    const byte = input[index] ?? 0;
    // Nearly all bytes end here.
    if (byte > AMPERSAND && byte !== LESS_THAN && byte !== FIRST_BYTE_OF_U_FFFE) continue;
    const size = unescapedSize(input, index, byte);
    const replacement = size === 0 ? undefined : table[input[index + size - 1] ?? 0];
    if (replacement === undefined) continue;
    rewritten.replace(index, index + size, replacement);
    index += size - 1;
  }
}

/** The bytes of the character at `index` if it may not stand in a value as it is, else 0. */
function unescapedSize(input: Buffer, index: number, byte: number): number {
  if (byte === AMPERSAND) return hasAt(input, index, QUOTE_REFERENCE) ? 0 : 1;
  if (byte === FIRST_BYTE_OF_U_FFFE) return hasAt(input, index, U_FFFE) || hasAt(input, index, U_FFFF) ? 3 : 0;
  return byte === LESS_THAN || byte < FIRST_PRINTABLE ? 1 : 0;
}

function hasAt(input: Buffer, index: number, token: Buffer): boolean {
  for (let offset = 0; offset < token.length; offset++) {
    if (input[index + offset] !== token[offset]) return false;
  }
  return true;
}
