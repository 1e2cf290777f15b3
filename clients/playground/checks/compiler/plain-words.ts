/** What the compiler's commonest messages mean, for people who do not know its words; tried with Typst 0.15. */
import { didYouMean, similarName } from "../../../data-schema/similar-name.ts";
import {
  CALCULATIONS,
  FUNCTIONS,
  METHODS,
  OPTIONS,
  OTHER_FUNCTIONS,
  OTHER_METHODS,
  OTHER_OPTIONS,
  OTHER_VALUES,
  TYPES,
} from "./known-words.ts";

export interface DiagnosedText {
  /** What the compiler has marked, and what stands before and after it in its lines. */
  readonly marked: string;
  readonly before: string;
  readonly after: string;
  readonly hints: readonly string[];
  /** Names that the project itself gives. */
  readonly names: () => readonly string[];
  /** The key of the file that defines a name; null if none does. */
  readonly fileThatDefines: (name: string) => string | null;
}

type Explain = (found: readonly string[], text: DiagnosedText) => string | null;

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const SIGNS: Readonly<Record<string, string>> = { $: "a formula", "*": "strong text", _: "emphasis" };

const explainOpen: Explain = (_, { marked, after }) => {
  const [first = ""] = marked;
  if (/\bhttps?:\/\//.test(after)) return "An address within code is a text, in quotes.";
  if (/\/\/.*[)\]}]/.test(after)) return "// begins a comment. A division has one /.";
  if (/^\$\{/.test(marked + after)) return "A value of the data is #data.name, without $ and braces.";
  const begins = SIGNS[first];
  if (begins !== undefined)
    return `${first} begins ${begins}, and a second one ends it. For the sign itself write \\${first}.`;
  return `This ${first} has no ${CLOSING[first] ?? "end"}: look at the end of what it begins.`;
};

const explainName: Explain = ([name = ""], { before, after, hints, names, fileThatDefines }) => {
  // In a formula, where Typst says that letters stand apart.
  if (hints.some((hint) => hint.includes("multiple letters"))) {
    return /\\\w$/.test(before) ? "A formula has no backslashes: frac(1, 2), alpha, sum_(i=1)^n." : null;
  }
  if (name.split("-").length === 2 && name.split("-").every((part) => PLACE.test(part))) {
    return `Did you mean ${name.replace("-", " + ")}?`;
  }
  if (/^\s*=[^=>]/.test(after)) {
    return /\($|[(,][^()]*$/.test(before) ? "An option has a colon, as in size: 12pt." : `#let ${name} = … defines it.`;
  }
  if (after.startsWith('"')) return "A text with values stands in [ … ], as in [Hello #data.name].";
  const file = fileThatDefines(name);
  if (file !== null) return `${file} defines it: #import "${file}": ${name} brings it here.`;
  if (CALCULATIONS.includes(name)) return `Did you mean calc.${name}?`;
  if (METHODS.includes(name)) return `It stands after its value, as in data.items.${name}(…).`;
  if (/\.(?:map|filter|sorted|find|position|any|all|fold)\([^()]*$/.test(before)) {
    return "What each item is called stands before =>, as in .filter(item => item.paid).";
  }
  const others = /^\s?[([]/.test(after) ? OTHER_FUNCTIONS : OTHER_VALUES;
  const meant = others.get(name) ?? similarName(name, [...names(), ...FUNCTIONS]);
  if (meant !== null) return didYouMean(meant).trim();
  return hints.length > 0 ? null : "Nothing has this name: #let defines names, and a text within code is in quotes.";
};

const explainMethod: Explain = ([type = "", name = ""]) => {
  if (type === "string" && ARRAY_METHODS.test(name)) {
    return 'This is a text, not an array: an array with one item has a comma, as in ("a",).';
  }
  if (type === "datetime") return "A date is shown by .display(…).";
  if (type === "string" && name === "display") {
    return "JSON has no dates, so this is a text: show it as it is, or make a datetime(…) of its parts.";
  }
  if (CALCULATIONS.includes(name)) return `Did you mean calc.${name}(…)?`;
  const meant = OTHER_METHODS.get(name) ?? (FUNCTIONS.includes(name) ? `${name}(…)` : similarName(name, METHODS));
  return meant === null ? "Look up what such a value can do: its methods." : didYouMean(meant).trim();
};
const ARRAY_METHODS = /^(?:join|map|filter|sum|sorted|enumerate|zip|flatten|fold|push)$/;

const explainCharacter: Explain = ([character = ""], { after }) => {
  if (/[“”„‟«»‘’‚']/.test(character)) return 'In code a text stands between straight double quotes, as in "text".';
  const colour = /^#?([0-9a-fA-F]{3,8})\b/.exec(after)?.[1];
  if (character === "#" && colour !== undefined) return `A color by its number is rgb("#${colour}").`;
  if (character === "\\") return "In code no sign needs a \\: a text stands in quotes, or in [ … ].";
  if (character === "%") return "calc.rem(7, 2) is what is left of a division.";
  if (character === "?") return "A choice is written if a { b } else { c }.";
  return character === "#" ? "Within code a name stands without #." : null;
};

const PLACE = /^(?:left|right|center|start|end|top|bottom|horizon)$/;
const UNIT = /^(?:pt|mm|cm|in|em|fr|%)$/;

const explainComma: Explain = (_, { before, after }) => {
  const [, first = ""] = /(\d?[a-z]*)$/.exec(before) ?? [];
  const [, next = ""] = /^\s+([a-z%]+)/.exec(after) ?? [];
  if (/^\d$/.test(first) && UNIT.test(next)) return "A unit follows its number without a space, as in 5cm.";
  if (/^\d[a-z]+$/.test(first) && next !== "") return "Thickness and color are added, as in 1pt + red.";
  if (PLACE.test(first) && PLACE.test(next)) return "Two alignments are added, as in center + horizon.";
  return "Put a comma between two entries, and a colon after the name of an option, as in columns: 2.";
};

const explainEnd: Explain = (_, { before, after }) => {
  if (/\blet\s+[\w-]+$/.test(before) && /^\s+\w/.test(after)) return "A name has no spaces: my-name.";
  if (/\blet\s+[\w-]+\s*$/.test(before)) return "Several names stand in parentheses, as in #let (a, b) = (1, 2).";
  if (/^\s*if\b/.test(after)) return "A choice is written if a { b } else { c }.";
  return /\d\s*$/.test(before)
    ? "A statement has ended before this. A decimal number has a point, as in 1.5."
    : "A statement has ended before this: the next one begins in a new line, or after a semicolon.";
};

const explainMissing: Explain = ([name = ""], { before }) => {
  if (/#show\s*:\s*$/.test(before))
    return "After #show: a template gets its options by .with, as in #show: letter.with(…).";
  if (name === "body")
    return "What it is for follows in [ … ]. #set is for all that follows, as in #set page(margin: 2cm).";
  return `The function needs a value for ${name}.`;
};

const explainFunction: Explain = ([type = ""], { marked }) => {
  if (type === "alignment") return `A place is given by align: #align(${marked})[ … ].`;
  if (type === "color") return `A color is given to a text: #text(${marked})[ … ].`;
  return "Only a function has parentheses after its name.";
};

const explainField: Explain = ([name = "", field = ""]) => {
  const meant = OTHER_METHODS.get(field);
  if (meant !== undefined) return didYouMean(meant).trim();
  return OPTIONS.get(name)?.includes(field) ? `A choice of them is ${name}.where(${field}: …).` : null;
};

const explainAccess: Explain = ([type = ""], { marked, after }) => {
  if (type === "none") return "The value before the point is none: the data lacks it.";
  const name = /^\.?([\w-]+)/.exec(marked.slice(marked.lastIndexOf(".") + 1) + after)?.[1] ?? "";
  if (METHODS.includes(name) || (type !== "array" && type !== "string")) return `A method has parentheses: .${name}().`;
  if (type === "string") return "Before the point stands a text, which has no members.";
  return "An array has items: .at(0) is one, for goes through them. In a CSV, row-type: dictionary gives names to cells.";
};

const explainUnexpectedComma: Explain = (_, { before }) => {
  return /\bfor\s+[\w-]+\s*$/.test(before)
    ? "Two names stand in parentheses: for (key, value) in data [ … ]."
    : "Before this comma an entry is missing.";
};

const explainNumber: Explain = (_, { before }) => {
  if (/\b(?:rotate|skew)\($/.test(before)) return "An angle has a unit, as in 90deg.";
  if (/\b(?:grid|table)\($/.test(before)) return "The number has a name: columns: 2.";
  return /\bheading\($/.test(before) ? "The number has a name: level: 1." : MAKES_TEXT;
};

/** Whatever else is expected: how it is written. */
const explainExpected: Explain = ([expected = "", found = ""], { before, marked }) => {
  if (/^\[\d+\]$/.test(marked) && /[\w)]$/.test(before)) return "An item is .at(0), as in data.items.at(0).";
  const written = expected.split(/, (?:or )?| or /).flatMap((type) => TYPES.get(type)?.[0] ?? []);
  const is = TYPES.get(found)?.[1];
  if (written.length === 0 || is === undefined) return null;
  const values = new Intl.ListFormat("en", { type: "disjunction" }).format(written.slice(0, 3));
  return `A value such as ${values} belongs here, not ${is}.`;
};

const explainModule: Explain = ([module = "", name = ""]) => {
  if (METHODS.includes(name)) return `It stands after its value, as in data.items.${name}(…).`;
  return module === "calc" ? didYouMean(similarName(name, CALCULATIONS)).trim() || null : null;
};

const explainBlock: Explain = (_, { after }) => {
  if (/^\s*is\b/.test(after)) return "A comparison is written ==.";
  return "What is done stands in [ … ] or { … }, without “then”, “do” or a colon.";
};

const explainCondition: Explain = (_, { before, marked }) => {
  if (!/\b(?:if|while)\s*\(?$|\b(?:and|or|not)\s*$/.test(before)) return "That is true or false, without quotes.";
  if (/[^=!<>]=[^=>]/.test(marked)) return "A comparison has two equals signs, as in x == 1.";
  return "A condition is true or false: compare the value, as in x != none.";
};

const explainOption: Explain = ([name = ""], { before }) => {
  const called = /([a-z][\w.-]*)\([^()]*$/.exec(before)?.[1];
  const options = called === undefined ? undefined : OPTIONS.get(called);
  const meant = OTHER_OPTIONS.get(name) ?? similarName(name, options ?? [...OPTIONS.values()].flat());
  const isThere = meant !== null && (options?.includes(meant.replace(/:.*/, "")) ?? true);
  if (isThere) return `The function has no option of this name.${didYouMean(meant)}`;
  if (options === undefined || options.length === 0) return "The function has no option of this name.";
  return `The options of ${called} are ${options.join(", ")}.`;
};

const explainMember: Explain = ([name = ""], { before, names }) => {
  if (/\bfor\s*\([^()]*$/.test(before))
    return "A number comes with each item by .enumerate(): for (i, item) in data.items.enumerate().";
  const longer = names().find((known) => known.startsWith(`${name} `) || known.startsWith(`${name}.`));
  if (longer !== undefined) return `The data has “${longer}”: .at("${longer}") reads it.`;
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

const explainItem: Explain = (_, { marked, after }) => {
  return /\[|^$/.test((marked + after).replace(/^[^([]*/, "").charAt(0))
    ? 'An item is .at(0), as in data.items.at(0), and a member .at("name").'
    : "This is a value, not a function: it stands without parentheses.";
};

const explainColon: Explain = (_, { before }) => {
  return /\{[^}]*$/.test(before)
    ? 'A dictionary stands in parentheses, as in (name: "Ada", age: 36).'
    : "A colon stands between a name and its value, as in (a: 1) and f(a: 1).";
};

const explainNoExpression: Explain = (_, { before, marked, after }) => {
  const line = before + marked + after;
  if (before.endsWith("#"))
    return "After # stands a name or code. A heading begins with =, and the sign itself is \\#.";
  if (/->/.test(line)) return "A function is written with =>, as in it => it.body.";
  if (/\+\+|--/.test(line)) return "A step is written i += 1.";
  if (/\*\*/.test(line)) return "A power is calc.pow(5, 2).";
  return "A value or a call belongs here. Text within code stands in [ … ].";
};

const explainArgument: Explain = (_, { before }) => {
  if (/\bdatetime\($/.test(before)) return "A date has its parts by name: datetime(year: 2026, month: 10, day: 5).";
  return "The function takes no such value here. Options have names, as in size: 12pt; center and red have no quotes.";
};

const IS_CONTENT =
  "Content, what [ … ] makes, is no text: keep the text itself in quotes. What a heading or a link shows is its .body.";
const IS_NONE = "A value here is none: the data lacks it, or a function returns nothing.";
const READ_NUMBER = "A number in quotes is a text: int(…), float(…) and decimal(…) read it.";
const MAKES_TEXT = "str(…) makes a text of a number.";
const NEEDS_UNIT = "A length needs a unit: pt, mm, cm, em or %.";

const MEANINGS: readonly (readonly [message: RegExp, meaning: string | Explain])[] = [
  [/^invalid number suffix: `?([^`]*)`?/, ([unit = ""]) => `“${unit}” is no unit here: write pt, mm, cm, em or %.`],
  [/^unclosed delimiter/, explainOpen],
  [/^unclosed string/, 'A text that begins with " ends with another one.'],
  [/^unclosed raw text/, "A ` begins code, and as many of them end it."],
  [/^the character `([^`]*|`)` is not valid in code/, explainCharacter],
  [/^unexpected keyword `else`/, "It stands in the line in which the block of its if ends: ] else [."],
  [/^(?:unexpected|expected) keyword `in`/, "for has no parentheses: for item in data.items [ … ]."],
  [/^unexpected closing/, "Nothing that is open ends here: it is one too many, or its opening one is missing."],
  [/^unexpected colon/, explainColon],
  [/^expected colon/, "After what a show rule is for stands a colon, as in #show heading: it => [ … ]."],
  [/^expected comma/, explainComma],
  [/^expected expression, found (?:named|keyed) pair/, "Only in (a: 1) and in f(a: 1) has a value a name."],
  [/^expected expression/, explainNoExpression],
  [/^label .* occurs multiple times/, "Each place has a label of its own."],
  [/^label .* does not exist/, "An @ begins a reference. In an address or another text write \\@."],
  [/^package specification is missing version/, 'It stands after a colon, as in "@preview/name:1.0.0".'],
  [/^unresolved import/, "The file gives nothing such a name by #let."],
  [/would escape the \w+ root/, "All files are in the request: name them by their paths there."],
  [/^unknown image format/, "An image is a PNG, JPEG, GIF, WebP, SVG or PDF."],
  [/^dictionary does not contain key "([^"]*)"/, explainMember],
  [/^unknown variable: (\S+)/, explainName],
  [/^cannot mutate a constant/, "An option has a colon, as in columns: 2; #let gives a name a value."],
  [/^cannot mutate a temporary value/, "Only what has a name by #let can be changed."],
  [/^unexpected argument: (\S+)/, explainOption],
  [/^unexpected argument$/, explainArgument],
  [/^missing argument: (\S+)/, explainMissing],
  [/^type (\S+) has no method `([^`]*)`/, explainMethod],
  [/^element \S+ has no method|does not have field "/, IS_CONTENT],
  [
    /^unexpected key "[^"]*"$/,
    "The sides are left, right, top, bottom, x, y and rest; the corners top-left to bottom-right.",
  ],
  [
    /^variables from outside the function are read-only/,
    "A function returns a value, and cannot change what is defined outside it: data.items.map(…).sum() is a total.",
  ],
  [/^maximum function call depth/, "The function calls itself, and nothing ends that."],
  [
    /^only element functions can be used in set/,
    "set is for functions of Typst, such as text: hand its options to yours in the call.",
  ],
  [/^(?:page configuration is|document set rules are) not/, "Such a rule stands outside of blocks, boxes and tables."],
  [/^pagebreaks are not allowed/, "A page ends outside of blocks, boxes and tables only."],
  [/^cannot add (?:integer|float|decimal) and (?:string|content)/, MAKES_TEXT],
  [/^cannot add (?:string|content) and (?:integer|float|decimal)/, MAKES_TEXT],
  [/^cannot add .*\b(?:length|ratio)\b/, NEEDS_UNIT],
  [/^cannot add .*\bnone\b/, IS_NONE],
  [/^cannot join .*\b(?:integer|float|decimal)\b/, "[#i] shows a number, and str(…) makes a text of it."],
  [/^cannot join /, "A block puts its values together, which these cannot be: [#x] shows a value."],
  [
    /^cannot apply '-' to string/,
    "Within code, an item of a list is [- #item]. A number has no quotes: float(…) reads it.",
  ],
  [/^cannot (?:apply '[-+]'|multiply|divide|subtract|compare) .*\bstring\b/, READ_NUMBER],
  [/^cannot (?:multiply|divide|subtract|compare) .*\bnone\b/, IS_NONE],
  [
    /^string contains invalid digits|^invalid (?:float|decimal)/,
    "A number has digits only, and a point for its decimals: 1.5.",
  ],
  [/^cannot calculate (?:sum|product) of empty array/, ".sum(default: 0) is the sum of no items."],
  [/^array is empty/, "Nothing is in it: .at(0, default: none) allows for that."],
  [/^cannot directly call dictionary keys/, explainItem],
  [/^expected function, found (?:array|dictionary)/, explainItem],
  [/^expected function, found (\S+)/, explainFunction],
  [/^module `([^`]*)` does not contain `([^`]*)`/, explainModule],
  [
    /^expected content, found array/,
    "An array holds several values: .. hands them over one by one, as in table(..rows.flatten()).",
  ],
  [/^expected content, found dictionary/, "A dictionary holds several values: choose one, as in data.customer.name."],
  [
    /^expected content, found (?:auto|length|fraction|relative|ratio)/,
    "Several values of one option stand in parentheses, as in columns: (auto, 1fr).",
  ],
  [/^expected path.*, found (?:dictionary|array)$/, "The data is read already: data.name is a member of it."],
  [
    /^expected color\b.*, found string|^color string /,
    'A color is a name without quotes, such as red, or rgb("#ff0000").',
  ],
  [/^expected boolean, found/, explainCondition],
  [
    /^invalid component name/,
    "The parts of a date are [day], [month] and [year], those of a time [hour] and [minute].",
  ],
  [/^expected .*, found none$/s, IS_NONE],
  [/^expected (?:string|content).*, found (?:integer|float|decimal)$/, explainNumber],
  [/^expected .*\blength\b.*, found (?:integer|float)/, NEEDS_UNIT],
  [/^expected array.*, found string/, 'An array with one item has a comma, as in ("a",).'],
  [/^expected (?:integer|float|boolean).*, found string/, READ_NUMBER],
  [/^array index out of bounds/, "The array is shorter, and its first item has the index 0."],
  [/^can only be used when context is known/, "Write context before it, as in #context counter(page).display()."],
  [/^expected block/, explainBlock],
  [/^cannot loop over content/, "An array stands in parentheses, as in (1, 2, 3)."],
  [/^cannot loop over/, "for goes through an array, such as range(3)."],
  [/^cannot spread|^cannot destructure/, "This takes an array apart, and the value is none."],
  [/^cannot access fields on type (\S+)/, explainAccess],
  [/^(?:type|function) `?([^` ]+)`? does not contain field `([^`]*)`/, explainField],
  [/^type \S+ does not have a constructor/, "This is no function. A color is an option of one: text(fill: blue)."],
  [/^unexpected comma/, explainUnexpectedComma],
  [/^expected semicolon or line break/, explainEnd],
  [/^expected pattern/, "After let stands a name, as in #let total = 5."],
  [/^expected equals sign/, "A definition has an equals sign, as in #let f(x) = [ … ]."],
  [/^expected named or keyed pair/, "In a dictionary each value has a name, as in (a: 1, b: 2)."],
  [/^expected (.*"[^"]+".*)/s, explainWord],
  [/^expected (.+), found (.+)$/, explainExpected],
];

/** A sentence or a question; null if the message speaks for itself. @param message as the compiler has it, without hints */
export function explainMessage(message: string, text: DiagnosedText): string | null {
  for (const [pattern, meaning] of MEANINGS) {
    const found = pattern.exec(message);
    if (found !== null) return typeof meaning === "string" ? meaning : meaning(found.slice(1), text);
  }
  return null;
}
