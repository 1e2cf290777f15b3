/**
 * Completes the SVG that Typst writes: it is well-formed XML, draws all its text, and its links run nothing.
 *
 * Typst 0.15.1 writes elements and attributes, never text, and escapes only `"` (typst #8672). A document can put any
 * text into three attributes (by the source of typst-svg): `href` and `xlink:href` of a link's `<a>`, and
 * `data-typst-label` of a labelled box or block. So these are escaped, and nothing is guessed: `&amp;` in a link target
 * is what the author wrote, and becomes `&amp;amp;`. A later Typst that escapes them itself must not go through here.
 *
 * A link of a scheme that is not in `LINK_SCHEMES`, `javascript:` for one, gets `%3A` for its colon. Every program
 * takes that for an address relative to the page, and nothing has to be held back until the scheme is known.
 *
 * In a tiling, the reference to a glyph begins with NUL instead of `g`, because Typst no longer knows which kind of id
 * it has. It becomes the `g`, and the glyph is drawn.
 */

/** Of web pages, mail and telephones. Each other one may run something in the page or start a program. */
const LINK_SCHEMES: readonly string[] = ["http", "https", "mailto", "tel"];
const LONGEST_SCHEME = Math.max(...LINK_SCHEMES.map(({ length }) => length));

const LOST_GLYPH_KIND = "\0";
const GLYPH_KIND = "g";

type State = "markup" | "link-tag" | "link-target" | "label";

/** What ends a state, in bytes as Latin-1. Neither `<a ` nor the label's name can occur in another value. */
const TOKENS: Readonly<Record<State, RegExp>> = {
  markup: /<a |data-typst-label="|\0/g,
  "link-tag": /[">]/g,
  "link-target": /"/g,
  label: /"/g,
};
const STATE_AFTER: Readonly<Record<State, Readonly<Record<string, State>>>> = {
  markup: { "<a ": "link-tag", 'data-typst-label="': "label", "\0": "markup" },
  "link-tag": { '"': "link-target", ">": "markup" },
  "link-target": { '"': "link-tag" },
  label: { '"': "markup" },
};

/** What a value may not hold, with U+FFFE and U+FFFF as UTF-8. A `&quot;` by an author looks like one by Typst. */
const FORBIDDEN = /&(?!quot;)|<|[^ -\xff]|\xef\xbf[\xbe\xbf]/g;
/** Tabs and line ends become references, since an XML parser normalizes them to spaces (XML 1.0, section 3.3.3). */
const REFERENCES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};
const REPLACEMENT_CHARACTER = Buffer.from("\ufffd").toString("latin1");

const SCHEME = /^[a-z][a-z0-9+.-]*$/;
/** Where a scheme ends. Browsers ignore spaces before an address, and tabs and line ends anywhere in it. */
const NOT_IN_SCHEME = /[^A-Za-z0-9+.\- \t\n\r]/;

/** The longest incomplete beginning of a token or character, and its first byte, which is nowhere else in one. */
const LONGEST_INCOMPLETE = 'data-typst-label="'.length - 1;
const FIRST_BYTE = /[<d&\xef]/;

export async function* escapeSvg(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, void> {
  const escaper = new SvgEscaper();
  for await (const chunk of chunks) yield escaper.push(chunk);
  yield escaper.end();
}

/** Escapes one SVG that comes in chunks, wherever they are cut. */
export class SvgEscaper {
  #state: State = "markup";
  /** The last bytes, if they may begin something that the next chunk completes. */
  #held = "";
  /** What was read of a link's scheme, no longer than it must be; null once the rest of the target can stay. */
  #scheme: string | null = null;

  /** Returns what is ready: at most five times as many bytes. Up to 17 bytes are kept for the next call. */
  push(chunk: Buffer): Buffer {
    const text = this.#held + chunk.toString("latin1");
    const lastBytes = Math.max(0, text.length - LONGEST_INCOMPLETE);
    const incomplete = text.slice(lastBytes).search(FIRST_BYTE);
    const end = incomplete === -1 ? text.length : lastBytes + incomplete;
    this.#held = text.slice(end);
    return this.#escape(text.slice(0, end));
  }

  end(): Buffer {
    const rest = this.#held;
    this.#held = "";
    return this.#escape(rest);
  }

  #escape(text: string): Buffer {
    let escaped = "";
    for (let position = 0; position < text.length; ) {
      const tokens = TOKENS[this.#state];
      tokens.lastIndex = position;
      const [token] = tokens.exec(text) ?? [];
      const next = token === undefined ? text.length : tokens.lastIndex;
      escaped += this.#escapeUpTo(text.slice(position, next - (token ?? "").length));
      position = next;
      if (token === undefined) break;
      escaped += token === LOST_GLYPH_KIND ? GLYPH_KIND : token;
      this.#state = STATE_AFTER[this.#state][token] ?? this.#state;
      this.#scheme = "";
    }
    return Buffer.from(escaped, "latin1");
  }

  /** Escapes what comes before a token, all of which is in the present state. */
  #escapeUpTo(part: string): string {
    switch (this.#state) {
      case "markup":
      case "link-tag":
        return part;
      case "link-target":
        return this.#replaceColon(part).replace(FORBIDDEN, (found) => REFERENCES[found] ?? percentEncode(found));
      case "label":
        return part.replace(FORBIDDEN, (found) => REFERENCES[found] ?? REPLACEMENT_CHARACTER);
    }
  }

  /** The next part of a link's target; if it ends a scheme that is not allowed, without the colon. */
  #replaceColon(part: string): string {
    if (this.#scheme === null) return part;
    const colon = part.search(NOT_IN_SCHEME);
    const read = colon === -1 ? part : part.slice(0, colon);
    const scheme = (this.#scheme + read.replace(/[\t\n\r]/g, "")).replace(/^ +/, "").toLowerCase();
    const isScheme = SCHEME.test(scheme);
    const goesOn = colon === -1 && (isScheme || scheme === "");
    this.#scheme = goesOn ? scheme.slice(0, LONGEST_SCHEME + 1) : null;
    if (part[colon] !== ":" || !isScheme || LINK_SCHEMES.includes(scheme)) return part;
    return `${read}%3A${part.slice(colon + 1)}`;
  }
}

/** Characters that XML 1.0 forbids, as a browser encodes them in an address. */
function percentEncode(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString("hex").toUpperCase().replace(/../g, "%$&");
}
