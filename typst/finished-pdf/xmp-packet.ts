/**
 * The XMP packet of a PDF by Typst as its bytes pass: which property has a character that XML 1.0 forbids (section 2.2),
 * and the text of each property. Typst escapes what XML escapes, but writes all other characters as they are, so a file
 * with one of these has no metadata that an XML parser reads, and no claim to its standard either.
 */

/** The properties with text of the caller, by the elements that contain it. */
const PROPERTIES = {
  "dc:title": "title",
  "dc:description": "description",
  "pdf:Keywords": "keywords",
  "dc:creator": "author",
  "dc:language": "language",
} as const;

export type MetadataField = (typeof PROPERTIES)[keyof typeof PROPERTIES];

/** Longer than the longest name of a property. */
const MAX_TAG_BYTES = 16;
/** PDF/A-1 limits each of the four strings in it to 32,767 bytes, and `&quot;` takes six for one. */
const MAX_KEPT_BYTES = 1024 ** 2;

export class XmpPacket {
  readonly #keepsText: boolean;
  /** The first such character in each property. */
  readonly forbidden = new Map<MetadataField, number>();
  #field: MetadataField | null = null;
  /** The beginning of a tag; null outside of tags. */
  #tag: string | null = null;
  /** The last two bytes, for U+FFFE and U+FFFF, which have three. */
  #last = 0;
  readonly #decoder = new TextDecoder("utf-8");
  #text = "";
  #byteLength = 0;

  /** @param keepsText whether `textOf` is wanted */
  constructor(keepsText: boolean) {
    this.#keepsText = keepsText;
  }

  push(chunk: Uint8Array): void {
    for (const byte of chunk) this.#readByte(byte);
    this.#byteLength += chunk.length;
    if (!this.#keepsText || this.#byteLength > MAX_KEPT_BYTES) return;
    this.#text += this.#decoder.decode(chunk, { stream: true });
  }

  #readByte(byte: number): void {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) this.#forbid(byte);
    if (this.#last === 0xefbf && byte >= 0xbe) this.#forbid(0xff40 | byte);
    this.#last = ((this.#last << 8) | byte) & 0xffff;
    if (byte === 0x3c) this.#tag = "";
    else if (this.#tag === null) return;
    else if (byte === 0x3e) this.#endTag(this.#tag);
    else if (this.#tag.length < MAX_TAG_BYTES) this.#tag += String.fromCharCode(byte);
  }

  /** A property lasts until the next one begins: only in these is text of the caller. */
  #endTag(tag: string): void {
    this.#tag = null;
    if (isProperty(tag)) this.#field = PROPERTIES[tag];
  }

  #forbid(codePoint: number): void {
    if (this.#field !== null && !this.forbidden.has(this.#field)) this.forbidden.set(this.#field, codePoint);
  }

  /** The text of a property as an XML parser reads it; null if it is not there, or the packet was too long to keep. */
  textOf(field: MetadataField): string | null {
    if (this.#byteLength > MAX_KEPT_BYTES) return null;
    const name = Object.keys(PROPERTIES).find((key) => isProperty(key) && PROPERTIES[key] === field) ?? "";
    const start = this.#text.indexOf(`<${name}>`);
    const end = this.#text.indexOf(`</${name}>`, start);
    if (start === -1 || end === -1) return null;
    // Text of the caller has no `<`.
    const text = this.#text.slice(start, end).replace(/<[^>]*>/g, "");
    return text.replace(/\r\n?/g, "\n").replace(/&(?:lt|gt|amp|apos|quot);/g, (entity) => ENTITIES[entity] ?? "");
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "&apos;": "'",
  "&quot;": '"',
};

function isProperty(name: string): name is keyof typeof PROPERTIES {
  return Object.hasOwn(PROPERTIES, name);
}
