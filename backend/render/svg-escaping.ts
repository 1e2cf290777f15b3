/**
 * Completes the SVG that Typst writes, so that every SVG that is delivered is well-formed XML and draws all its text.
 *
 * Typst 0.15.1 writes elements and attributes, never text, and escapes only `"` (typst #8672). A document can put any text
 * into three attributes (found in the source of typst-svg): `href` and `xlink:href` of a link's `<a>`, and
 * `data-typst-label` of a labelled box or block. All others hold numbers, colours, paths, hashes and Base64. So these three
 * are escaped, and nothing is guessed: `&amp;` in a link target is what the author wrote, and becomes `&amp;amp;`.
 *
 * In a tiling, the reference to a glyph begins with a NUL byte instead of a `g` (also found in the source: when Typst
 * draws tilings, it has already written the glyphs and no longer knows which kind of id they have). The NUL becomes the `g`, and the glyph is drawn.
 *
 * Bytes in, bytes out, no I/O, in 1 to 2 % of the time of the render (2026-11-22). Only for this release of Typst: if a later one escapes these attributes, they would be
 * escaped twice.
 */

/** Neither token can occur in the value of any other attribute, so outside these three values both are always markup. */
const LINK_TAG = Buffer.from("<a ");
/** Without the space before it: spaces are frequent, and a search that begins with one takes five times as long. */
const LABEL_ATTRIBUTE = Buffer.from('data-typst-label="');
const MARKUP_TOKENS = [LINK_TAG, LABEL_ATTRIBUTE];
/** Outside of those values, Typst writes it only where the kind of a glyph's id should be. */
const LOST_GLYPH_KIND = Buffer.from("\0");
const GLYPH_KIND = Buffer.from("g");

/** The only reference that Typst writes. An author's own `&quot;` looks the same and is kept too. */
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

/** One byte is replaced by at most this many: `&` by `&amp;`. */
const MAX_GROWTH = 5;

const NOTHING = Buffer.alloc(0);

type ValueKind = "link-target" | "label";

/** The replacement of each character that is not allowed in a value, by the last byte of the character. */
type Replacements = readonly (Buffer | undefined)[];

/**
 * Characters that XML 1.0 forbids are percent-encoded in a link target, as a browser does in a URL, and become U+FFFD in a
 * label. Tabs and line ends become references, since an XML parser normalizes them to spaces (XML 1.0, section 3.3.3).
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

/** Escapes one SVG written by Typst, however it is cut into chunks. */
export async function* escapeSvg(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const escaper = new SvgEscaper();
  for await (const chunk of chunks) yield* escaper.push(chunk);
  yield* escaper.end();
}

/** Escapes one SVG written by Typst that comes in chunks, wherever they are cut. */
export class SvgEscaper {
  #place: "markup" | "link-tag" | ValueKind = "markup";
  /** The last bytes, if they may begin a token that the next chunk completes. */
  #held: Buffer = NOTHING;
  /** The buffer in which every chunk is rewritten: allocating one per chunk would cost more than the rewriting. */
  #scratch: Buffer = NOTHING;

  /**
   * Takes the next chunk and returns what is ready: at most five times as many bytes. Up to 17 bytes are kept
   * for the next call. Long stretches with nothing to escape are views of the chunk, not copies.
   */
  push(chunk: Buffer): Buffer[] {
    const input = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = NOTHING;
    return this.#escape(input, true);
  }

  /** Returns the rest. */
  end(): Buffer[] {
    const input = this.#held;
    this.#held = NOTHING;
    return this.#escape(input, false);
  }

  #escape(input: Buffer, isMoreToCome: boolean): Buffer[] {
    const links = new TokenSearch(input, LINK_TAG);
    const labels = new TokenSearch(input, LABEL_ATTRIBUTE);
    const lostKinds = new TokenSearch(input, LOST_GLYPH_KIND);
    const rewritten = new RewrittenBytes(input, (bytes) => this.#takeScratch(bytes));
    let position = 0;
    while (position < input.length - this.#held.length) {
      switch (this.#place) {
        case "markup": {
          const link = links.next(position);
          const label = labels.next(position);
          const lostKind = lostKinds.next(position);
          const first = Math.min(link, label, lostKind);
          if (first === Number.POSITIVE_INFINITY) {
            if (isMoreToCome) this.#held = unfinishedToken(input.subarray(position), MARKUP_TOKENS);
            position = input.length;
          } else if (first === lostKind) {
            position = lostKind + LOST_GLYPH_KIND.length;
            rewritten.replace(lostKind, position, GLYPH_KIND);
          } else if (first === link) {
            this.#place = "link-tag";
            position = link + LINK_TAG.length;
          } else {
            this.#place = "label";
            position = label + LABEL_ATTRIBUTE.length;
          }
          break;
        }
        case "link-tag": {
          // The other attribute of a link is a transformation, which needs no escaping.
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
    return rewritten.upTo(input.length - this.#held.length);
  }

  #takeScratch(bytes: number): Buffer {
    if (this.#scratch.length < bytes) this.#scratch = Buffer.allocUnsafeSlow(bytes);
    return this.#scratch;
  }
}

/** Finds the next occurrence of a token, and searches each part of the input only once. */
class TokenSearch {
  readonly #input: Buffer;
  readonly #token: Buffer;
  #found = -1;

  constructor(input: Buffer, token: Buffer) {
    this.#input = input;
    this.#token = token;
  }

  /** The first occurrence at or after `position`; infinite if there is none. `position` must not decrease. */
  next(position: number): number {
    if (this.#found < position) {
      const index = this.#input.indexOf(this.#token, position);
      this.#found = index === -1 ? Number.POSITIVE_INFINITY : index;
    }
    return this.#found;
  }
}

/** Shorter stretches between two replacements are copied, since many small chunks would cost more. */
const MIN_CHUNK_BYTES = 1024;

/** The input with some of its bytes replaced, in order. */
class RewrittenBytes {
  readonly input: Buffer;
  /** Returns memory for stretches with replacements, large enough for the largest result. */
  readonly #takeScratch: (bytes: number) => Buffer;
  readonly #chunks: Buffer[] = [];
  #scratch: Buffer | null = null;
  #scratchLength = 0;
  /** The input up to here is in the chunks or in the scratch memory. */
  #copied = 0;

  constructor(input: Buffer, takeScratch: (bytes: number) => Buffer) {
    this.input = input;
    this.#takeScratch = takeScratch;
  }

  replace(start: number, end: number, replacement: Buffer): void {
    this.#scratch ??= this.#takeScratch(this.input.length * MAX_GROWTH);
    if (start - this.#copied >= MIN_CHUNK_BYTES) this.#addUnchanged(start);
    else this.#scratchLength += copyBytes(this.input, this.#copied, start, this.#scratch, this.#scratchLength);
    this.#scratchLength += copyBytes(replacement, 0, replacement.length, this.#scratch, this.#scratchLength);
    this.#copied = end;
  }

  /** The result up to a place in the input. */
  upTo(end: number): Buffer[] {
    this.#addUnchanged(end);
    return this.#chunks;
  }

  #addUnchanged(end: number): void {
    if (this.#scratch !== null && this.#scratchLength > 0) {
      this.#chunks.push(Buffer.from(this.#scratch.subarray(0, this.#scratchLength)));
      this.#scratchLength = 0;
    }
    if (end > this.#copied) this.#chunks.push(this.input.subarray(this.#copied, end));
    this.#copied = end;
  }
}

/** Up to this length, copying bytes one by one is cheaper than a call into native code. */
const SHORT_COPY_BYTES = 32;

function copyBytes(source: Buffer, start: number, end: number, target: Buffer, targetStart: number): number {
  if (end - start > SHORT_COPY_BYTES) return source.copy(target, targetStart, start, end);
  for (let index = start; index < end; index++) target[targetStart + index - start] = source[index] ?? 0;
  return end - start;
}

/** The longest end of `bytes` that is an incomplete beginning of one of the tokens. */
function unfinishedToken(bytes: Buffer, tokens: readonly Buffer[]): Buffer {
  const longest = Math.max(...tokens.map(({ length }) => length)) - 1;
  for (let size = Math.min(longest, bytes.length); size > 0; size--) {
    const end = bytes.subarray(bytes.length - size);
    if (tokens.some((token) => size < token.length && end.equals(token.subarray(0, size)))) return end;
  }
  return NOTHING;
}

/** Replaces what is not allowed in a value, which is the input from `start` to `end`. */
function escapeValue(rewritten: RewrittenBytes, start: number, end: number, table: Replacements): void {
  const { input } = rewritten;
  for (let index = start; index < end; index++) {
    const byte = input[index] ?? 0;
    // Nearly all bytes are skipped here.
    if (byte > AMPERSAND && byte !== LESS_THAN && byte !== FIRST_BYTE_OF_U_FFFE) continue;
    const size = unescapedSize(input, index, byte);
    const replacement = size === 0 ? undefined : table[input[index + size - 1] ?? 0];
    if (replacement === undefined) continue;
    rewritten.replace(index, index + size, replacement);
    index += size - 1;
  }
}

/** The length of the character at `index` if it is not allowed in a value, else 0. */
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
