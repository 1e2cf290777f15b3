/** The words of Typst 0.15 that templates use most, and what other languages call them. */

/** The commonest first: of two that are as close, the first is meant. */
export const FUNCTIONS =
  "table image text page heading grid figure align array assert bibliography block bool box calc caption center cite circle cmyk colbreak columns context counter csv curve datetime decimal dictionary document ellipse emph enum eval float footnote here highlight hide horizon int json label layout left line linebreak link list locate lorem lower luma measure metadata move numbering oklab outline overline pad pagebreak panic par parbreak path pdf place polygon query quote range raw read rect ref regex repeat repr rgb right rotate scale selector smallcaps smartquote square stack state str strike strong sub super sys terms title toml top bottom type underline upper version xml yaml black blue red green gray white yellow orange purple navy teal aqua eastern maroon fuchsia lime olive silver".split(
    " ",
  );
const SIDES = "fill stroke inset outset radius width height";
const CELLS = "columns rows gutter column-gutter row-gutter inset align fill stroke";
/** The options of the functions that templates use most. */
export const OPTIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    text: "font size fill weight style stretch lang region dir tracking spacing baseline stroke hyphenate features",
    page: "paper width height flipped margin columns fill numbering number-align header footer background foreground binding",
    par: "leading spacing justify linebreaks first-line-indent hanging-indent",
    heading: "level depth offset numbering supplement outlined bookmarked",
    document: "title author description keywords date",
    table: CELLS,
    grid: CELLS,
    ...{ "table.cell": "x y colspan rowspan inset align fill stroke breakable", "table.header": "repeat level" },
    ...{
      rect: SIDES,
      square: `${SIDES} size`,
      circle: `${SIDES} radius`,
      ellipse: SIDES,
      box: `${SIDES} baseline clip`,
    },
    block: `${SIDES} breakable spacing above below clip sticky`,
    image: "format width height alt page fit scaling icc",
    figure: "alt placement scope caption kind supplement numbering gap outlined",
    line: "start end length angle stroke",
    ...{
      list: "tight marker indent body-indent spacing",
      enum: "tight numbering start full reversed indent body-indent spacing",
    },
    ...{ raw: "block lang align syntaxes theme tab-size", quote: "block quotes attribution" },
    ...{ place: "scope float clearance dx dy", outline: "title target depth indent", stack: "dir spacing" },
    ...{ pagebreak: "weak to", rotate: "origin reflow", pad: "left right top bottom x y rest", columns: "gutter" },
    ...{ link: "", align: "", strong: "delta", emph: "" },
  }).map(([name, options]) => [name, options.split(" ").filter(Boolean)]),
);
export const CALCULATIONS =
  "abs pow exp sqrt root sin cos tan log ln fact perm binom gcd lcm floor ceil trunc fract round clamp min max even odd rem quo norm".split(
    " ",
  );
export const METHODS =
  "len at first last slice contains starts-with ends-with find position match matches replace trim split rev map filter fold sum product any all flatten zip enumerate join intersperse sorted dedup chunks push pop insert remove keys values pairs display".split(
    " ",
  );
export const OTHER_METHODS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ length: ".len()", size: ".len()", count: ".len()", append: ".push(…)", concat: "+", sort: ".sorted()" },
    ...{ toUpperCase: "upper(…)", toLowerCase: "lower(…)", toString: "str(…)", toFixed: "calc.round(…, digits: 2)" },
    ...{
      includes: ".contains(…)",
      indexOf: ".position(…)",
      forEach: "for",
      each: "for",
      reverse: ".rev()",
      substring: ".slice(…)",
    },
    ...{
      capitalize: "upper(…)",
      now: ".today()",
      get: '.at("name")',
      has: '"name" in data',
      isEmpty: '== ""',
      format: "str(calc.round(…, digits: 2))",
    },
  }),
);
export const OTHER_VALUES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ True: "true", yes: "true", on: "true", False: "false", no: "false", off: "false" },
    ...{ null: "none", None: "none", nil: "none", undefined: "none", bold: '"bold"', italic: '"italic"' },
    ...{
      middle: "center or horizon",
      pages: "context counter(page).final().first()",
      small: "9pt",
      large: "14pt",
      huge: "20pt",
    },
    ...{ var: "let", const: "let", def: "let", foreach: "for" },
  }),
);
/** By what stands before parentheses or brackets. */
export const OTHER_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{
      bold: "strong",
      b: "strong",
      italic: "emph",
      i: "emph",
      u: "underline",
      code: "raw",
      pre: "raw",
      color: "text",
    },
    ...{ h1: "heading", h2: "heading", h3: "heading", section: "heading", img: "image", picture: "image" },
    ...{ url: "link", href: "link", a: "link", br: "linebreak", newline: "linebreak", newpage: "pagebreak" },
    ...{ clearpage: "pagebreak", hr: "line", vspace: "v", hspace: "h", toc: "outline", ul: "list", ol: "enum" },
    ...{ footer: "set page(footer: …)", header: "set page(header: …)", margin: "set page(margin: …)" },
    ...{ font: "set text(font: …)", fontsize: "set text(size: …)", row: "grid", div: "block", span: "box" },
  }),
);
export const OTHER_OPTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{
      size: "paper",
      gap: "gutter",
      language: "lang",
      author: "attribution",
      format: "numbering",
      marker: "numbering",
    },
    ...{ color: "fill", colour: "fill", background: "fill", "background-color": "fill", padding: "inset" },
    ...{ "font-size": "size", "font-family": "font", "font-weight": "weight", "font-style": "style" },
    ...{ bold: 'weight: "bold"', italic: 'style: "italic"', "text-align": "align", "border-radius": "radius" },
    ...{ "line-height": "leading", "line-spacing": "leading", border: "stroke", indent: "first-line-indent" },
    ...{ orientation: "flipped: true", landscape: "flipped: true", src: "a path in quotes" },
  }),
);
/** What a type is called in a message, how such a value is written, and what it is. */
export const TYPES: ReadonlyMap<string, readonly [written: string, is: string]> = new Map(
  Object.entries({
    ...{ string: ['"text"', "a text in quotes"], content: ["[text]", "content, [ … ]"], label: ["<name>", "a label"] },
    ...{ integer: ["2", "a number"], float: ["1.5", "a number"], decimal: ['decimal("1.5")', "a decimal"] },
    ...{ length: ["2cm", "a length"], "relative length": ["2cm", "a length"], ratio: ["50%", "a share"] },
    ...{ fraction: ["1fr", "a share of the rest"], angle: ["90deg", "an angle"], color: ["red", "a color"] },
    ...{ alignment: ["center", "a place"], array: ['("a", "b")', "an array"], dictionary: ["(a: 1)", "a dictionary"] },
    ...{ boolean: ["true", "true or false"], function: ["x => x", "a function"], auto: ["auto", "auto"] },
    ...{ none: ["none", "none"], stroke: ["1pt + red", "a stroke"], direction: ["rtl", "a direction"] },
  }).map(([name, [written = "", is = ""]]) => [name, [written, is]]),
);
