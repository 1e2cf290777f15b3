/** What the compiler's commonest messages mean, for people who do not know its words; tried with Typst 0.15. */
import { didYouMean, similarName } from "../../../data-schema/similar-name.ts";

export interface DiagnosedText {
  /** What the compiler has marked. */
  readonly marked: string;
  readonly hasHint: boolean;
  /** Names that the project itself gives. */
  readonly names: () => readonly string[];
}

type Explain = (found: readonly string[], text: DiagnosedText) => string | null;

/** The commonest first: of two that are as close, the first is meant. */
const FUNCTIONS =
  "table image text page heading grid figure align array assert bibliography block bool box calc caption center cite circle cmyk colbreak columns context counter csv curve datetime decimal dictionary document ellipse emph enum eval float footnote here highlight hide horizon int json label layout left line linebreak link list locate lorem lower luma measure metadata move numbering oklab outline overline pad pagebreak panic par parbreak path pdf place polygon query quote range raw read rect ref regex repeat repr rgb right rotate scale selector smallcaps smartquote square stack state str strike strong sub super sys terms title toml top bottom type underline upper version xml yaml black blue red green gray white yellow orange purple navy teal aqua eastern maroon fuchsia lime olive silver".split(
    " ",
  );
const OPTIONS =
  "align alt author baseline body breakable caption clip columns column-gutter date delta depth fill first-line-indent fit font footer format gutter header height hyphenate indent inset justify lang leading level margin marker number-align numbering outlined outset page paper placement radius region row-gutter rows size spacing stretch stroke style supplement title tracking weight width".split(
    " ",
  );
const OTHER_WORDS: Readonly<Record<string, string>> = {
  True: "true",
  False: "false",
  null: "none",
  None: "none",
  nil: "none",
  undefined: "none",
  bold: '"bold"',
  italic: '"italic"',
  middle: "center or horizon",
  color: "fill",
  colour: "fill",
  background: "fill",
  "font-size": "size",
  "font-family": "font",
  src: "a path in quotes",
};

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const SIGNS: Readonly<Record<string, string>> = { $: "a formula", "*": "strong text", _: "emphasis" };

const explainOpen: Explain = (_, { marked }) => {
  const [first = ""] = marked;
  const begins = SIGNS[first];
  if (begins !== undefined)
    return `${first} begins ${begins}, and a second one ends it. For the sign itself write \\${first}.`;
  return `This ${first} has no ${CLOSING[first] ?? "end"}: look at the end of what it begins.`;
};

const explainName: Explain = ([name = ""], { hasHint, names }) => {
  const meant = OTHER_WORDS[name] ?? similarName(name, [...names(), ...FUNCTIONS]);
  if (meant !== null) return didYouMean(meant).trim();
  return hasHint ? null : "Nothing has this name: #let defines names, and a text within code is in quotes.";
};

const explainOption: Explain = ([name = ""]) =>
  `The function has no option of this name.${didYouMean(OTHER_WORDS[name] ?? similarName(name, OPTIONS))}`;

const explainMember: Explain = ([name = ""], { names }) => {
  const meant = didYouMean(similarName(name, names()));
  return meant !== "" ? meant.trim() : `Check the data, or allow for that: .at("${name}", default: none).`;
};

/** Typst lists all words that may stand there. */
const explainWord: Explain = ([list = ""], { marked }) => {
  const wanted = /^"([^"]*)"$/.exec(marked)?.[1];
  const meant =
    wanted === undefined
      ? null
      : similarName(
          wanted,
          [...list.matchAll(/"([^"]+)"/g)].map(([, word = ""]) => word),
        );
  return meant === null ? null : `Did you mean "${meant}"?`;
};

const MAKES_TEXT = "str(…) makes a text of a number.";
const NEEDS_UNIT = "A length needs a unit: pt, mm, cm, em or %.";

const MEANINGS: readonly (readonly [message: RegExp, meaning: string | Explain])[] = [
  [/^invalid number suffix: `?([^`]*)`?/, ([unit = ""]) => `“${unit}” is no unit here: write pt, mm, cm, em or %.`],
  [/^unclosed delimiter/, explainOpen],
  [/^unclosed string/, 'A text that begins with " ends with another one.'],
  [/^unclosed raw text/, "A ` begins code, and as many of them end it."],
  [/^unexpected closing/, "Nothing that is open ends here: it is one too many, or its opening one is missing."],
  [/^expected comma/, "Put a comma between two entries, and a colon after the name of an option, as in columns: 2."],
  [/^expected expression/, "After # stands a name or code. A heading begins with =, and the sign itself is \\#."],
  [/^label .* does not exist/, "An @ begins a reference. In an address or another text write \\@."],
  [/^dictionary does not contain key "([^"]*)"/, explainMember],
  [/^unknown variable: (\S+)/, explainName],
  [/^unexpected argument: (\S+)/, explainOption],
  [
    /^unexpected argument$/,
    "The function takes no such value here. Options have names, as in size: 12pt; center and red have no quotes.",
  ],
  [/^missing argument: (\S+)/, ([name = ""]) => `The function needs a value for ${name}.`],
  [/^cannot add (?:integer|float|decimal) and (?:string|content)/, MAKES_TEXT],
  [/^cannot add (?:string|content) and (?:integer|float|decimal)/, MAKES_TEXT],
  [/^expected (?:string|content), found (?:integer|float|decimal)/, MAKES_TEXT],
  [
    /^expected (?:integer|float), found string/,
    "A number stands without quotes. int(…) and float(…) read one from a text.",
  ],
  [/^expected .*\blength\b.*, found (?:integer|float)/, NEEDS_UNIT],
  [/^array index out of bounds/, "The array is shorter, and its first item has the index 0."],
  [/^can only be used when context is known/, "Write context before it, as in #context counter(page).display()."],
  [/^the character `#` is not valid in code/, "Within code a name stands without #."],
  [/^expected block/, "What is done stands in [ … ] or { … }, without “then” or “do”."],
  [/^cannot loop over/, "for goes through an array, such as range(3)."],
  [/^cannot access fields on type none/, "The value before the point is none: the data lacks it."],
  [/^expected semicolon or line break/, "A statement has ended before this. A decimal number has a point, as in 1.5."],
  [/^expected equals sign/, "A definition has an equals sign, as in #let f(x) = [ … ]."],
  [/^expected named or keyed pair/, "In a dictionary each value has a name, as in (a: 1, b: 2)."],
  [/^invalid float/, "A decimal number has a point, as in 1.5."],
  [/^expected (.*"[^"]+".*)/s, explainWord],
];

/** A sentence or a question; null if the message speaks for itself. @param message as the compiler has it, without hints */
export function explainMessage(message: string, text: DiagnosedText): string | null {
  for (const [pattern, meaning] of MEANINGS) {
    const found = pattern.exec(message);
    if (found !== null) return typeof meaning === "string" ? meaning : meaning(found.slice(1), text);
  }
  return null;
}
