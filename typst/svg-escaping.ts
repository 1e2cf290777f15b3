/**
 * Completes the SVG that Typst writes: it is well-formed XML, draws all its text, has the same colours in every program,
 * and its links run nothing.
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
 * it has. The NUL becomes `g`, and programs draw the glyph.
 *
 * Glyphs are `<symbol>` with `overflow="visible"`. The symbols become groups, which look the same. Skia, by which
 * @napi-rs/canvas 1.1.1 and skia-python 144.1 draw, ignores the overflow: it cuts what is below the line of writing, or
 * the letter. CairoSVG 2.9.1 leaves out letters with a gradient.
 *
 * Colours are in `fill`, `stroke` and `stop-color`. A colour that SVG 1.1 lacks becomes one that it has, with its opacity in an
 * attribute of its own. Typst writes no such attribute, so there is no other opacity to multiply by. The rectangle over a
 * link, which is `transparent`, can be clicked as before: it is painted, with an opacity of 0. An image is Base64, so
 * nothing in it looks like a colour, and it stays as it is.
 */
import { type SvgColor, svgColorOf } from "./svg-colors.ts";

/** Schemes that links may keep. Any other may run something in the page or start a program. */
const LINK_SCHEMES: readonly string[] = ["http", "https", "mailto", "tel"];
const LONGEST_SCHEME = Math.max(...LINK_SCHEMES.map(({ length }) => length));

/**
 * Markup that stays but for these. None becomes shorter: what is within the limit when it is finished was so as Typst wrote it,
 * and `check` and the service judge alike.
 */
const REPLACED: Readonly<Record<string, string>> = { "\0": "g", "<symbol ": "<g      ", "</symbol>": "</g     >" };

/** By what begins a paint: what begins its opacity. */
const OPACITIES: Readonly<Record<string, string>> = {
  'fill="': 'fill-opacity="',
  'stroke="': 'stroke-opacity="',
  'stop-color="': 'stop-opacity="',
};

type State = "markup" | "link-tag" | "link-target" | "label" | "paint";

/**
 * The tokens that end each state, in bytes as Latin-1. No token that begins a value can occur in another value. The
 * pattern skips most paints, since they stay.
 */
const TOKENS: Readonly<Record<State, RegExp>> = {
  markup: /<a |data-typst-label="|(?:fill|stroke|stop-color)="(?!#[0-9a-f]{6}"|none|url)|\0|<symbol |<\/symbol>/g,
  "link-tag": /[">]/g,
  "link-target": /"/g,
  label: /"/g,
  paint: /"/g,
};
const STATE_AFTER: Readonly<Record<State, Readonly<Record<string, State>>>> = {
  markup: {
    "<a ": "link-tag",
    'data-typst-label="': "label",
    ...Object.fromEntries(Object.keys(REPLACED).map((markup) => [markup, "markup"] as const)),
    ...Object.fromEntries(Object.keys(OPACITIES).map((paint) => [paint, "paint"] as const)),
  },
  "link-tag": { '"': "link-target", ">": "markup" },
  "link-target": { '"': "link-tag" },
  label: { '"': "markup" },
  paint: { '"': "markup" },
};

/** The longest paint is some 60 bytes. What is longer is none, and stays. */
const LONGEST_PAINT = 100;

/** Text that a value may not hold, with U+FFFE and U+FFFF as UTF-8. An author's own `&quot;` looks like one by Typst. */
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

/** Ends of a chunk that the next chunk may complete to a token, or to text that a value may not hold. */
const INCOMPLETE: ReadonlySet<string> = new Set(
  [...Object.keys(STATE_AFTER.markup), "&quot;", "\xef\xbf\xbe"].flatMap((whole) =>
    Array.from(whole.slice(1), (_, index) => whole.slice(0, index + 1)),
  ),
);
const LONGEST_INCOMPLETE = Math.max(...Array.from(INCOMPLETE, ({ length }) => length));

/** Escapes one SVG that comes in chunks, wherever they are cut. */
export class SvgEscaper {
  #state: State = "markup";
  /** The last bytes, if they may begin something that the next chunk completes. */
  #held = "";
  /** The part of a link's scheme that was read, no longer than the longest one; null once the rest of the target can stay. */
  #scheme: string | null = null;
  /** The part of a paint that was read; null once it is too long to be one. */
  #paint: string | null = null;
  /** The beginning of the attribute for the opacity of the paint. */
  #opacity = "";
  /** The last paint with its color: the letters of a text have one each. */
  #last: { readonly paint: string; readonly color: SvgColor | null } = { paint: "", color: null };

  /** Returns what is ready: in all, at most five times as many bytes. Few are kept for the next call: see the limits above. */
  push(chunk: Buffer): readonly Buffer[] {
    const text = this.#held + chunk.toString("latin1");
    let end = Math.max(0, text.length - LONGEST_INCOMPLETE);
    while (end < text.length && !INCOMPLETE.has(text.slice(end))) end++;
    this.#held = text.slice(end);
    return [this.#escape(text.slice(0, end))];
  }

  end(): readonly Buffer[] {
    return [this.#escape(this.#held), Buffer.from(this.#paint ?? "", "latin1")];
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
      if (this.#state === "paint") escaped += this.#endPaint();
      escaped += REPLACED[token] ?? token;
      this.#state = STATE_AFTER[this.#state][token] ?? this.#state;
      this.#scheme = "";
      if (this.#state !== "paint") continue;
      this.#paint = "";
      this.#opacity = OPACITIES[token] ?? "";
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
      case "paint":
        return this.#collectPaint(part);
    }
  }

  #collectPaint(part: string): string {
    const paint = (this.#paint ?? "") + part;
    this.#paint = this.#paint === null || paint.length > LONGEST_PAINT ? null : paint;
    return this.#paint === null ? paint : "";
  }

  /** The paint, and the beginning of a second attribute if its opacity needs one. */
  #endPaint(): string {
    const paint = this.#paint ?? "";
    this.#paint = null;
    if (paint !== this.#last.paint) this.#last = { paint, color: svgColorOf(paint) };
    const { color } = this.#last;
    if (color === null) return paint;
    return color.opacity === null ? color.rgb : `${color.rgb}" ${this.#opacity}${color.opacity}`;
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
