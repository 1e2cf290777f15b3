/** What the compiler's commonest messages mean, for people who do not know its words; tried with Typst 0.15. */
import { didYouMean, similarName, similarWord } from "../../../data-schema/similar-name.ts";
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
  if (/\bhttps?:\/\//.test(after)) return "In code, put an address in quotes.";
  if (/\/\/.*[)\]}]/.test(after)) return "// begins a comment; a division has one /.";
  if (/^\$\{/.test(marked + after)) return "Write #data.name for a value of the data, without $ and braces.";
  const begins = SIGNS[first];
  if (begins !== undefined)
    return `${first} begins ${begins}, and a second one ends it. For the sign itself write \\${first}.`;
  return `This ${first} has no ${CLOSING[first] ?? "end"}: look where it should end.`;
};

const explainName: Explain = ([name = ""], { before, after, hints, names, fileThatDefines }) => {
  // In a formula, where Typst says that letters stand apart.
  if (hints.some((hint) => hint.includes("multiple letters"))) {
    return /\\\w$/.test(before) ? "Write a formula without backslashes: frac(1, 2), alpha, sum_(i=1)^n." : null;
  }
  if (name.split("-").length === 2 && name.split("-").every((part) => PLACE.test(part))) {
    return `Did you mean ${name.replace("-", " + ")}?`;
  }
  if (/^\s*=[^=>]/.test(after)) {
    return /\($|[(,][^()]*$/.test(before)
      ? "Give an option with a colon, as in size: 12pt."
      : `#let ${name} = … defines it.`;
  }
  if (after.startsWith('"')) return "Put a text with values in [ … ], as in [Hello #data.name].";
  const file = fileThatDefines(name);
  if (file !== null) return `${file} defines it: #import "${file}": ${name} brings it here.`;
  if (CALCULATIONS.includes(name)) return `Did you mean calc.${name}?`;
  if (METHODS.includes(name)) return `Put it after its value, as in data.items.${name}(…).`;
  if (/\.(?:map|filter|sorted|find|position|any|all|fold)\([^()]*$/.test(before)) {
    return "Name each item before =>, as in .filter(item => item.paid).";
  }
  const others = /^\s?[([]/.test(after) ? OTHER_FUNCTIONS : OTHER_VALUES;
  const meant = others.get(name) ?? similarName(name, [...names(), ...FUNCTIONS]);
  if (meant !== null) return didYouMean(meant).trim();
  return hints.length > 0 ? null : "Nothing has this name: define it by #let, or put a text in quotes.";
};

const explainMethod: Explain = ([type = "", name = ""]) => {
  if (type === "string" && ARRAY_METHODS.test(name)) {
    return 'This is a text, not an array: an array with one item has a comma, as in ("a",).';
  }
  if (type === "datetime") return "Show a date by .display(…).";
  if (type === "string" && name === "display") {
    return "JSON has no dates, so this is a text: show it as it is, or make a datetime(…) of its parts.";
  }
  if (CALCULATIONS.includes(name)) return `Did you mean calc.${name}(…)?`;
  const meant = OTHER_METHODS.get(name) ?? (FUNCTIONS.includes(name) ? `${name}(…)` : similarName(name, METHODS));
  return meant === null ? "Look up what such a value can do: its methods." : didYouMean(meant).trim();
};
const ARRAY_METHODS = /^(?:join|map|filter|sum|sorted|enumerate|zip|flatten|fold|push)$/;

const explainCharacter: Explain = ([character = ""], { after }) => {
  if (/[“”„‟«»‘’‚']/.test(character)) return 'In code, put a text between straight double quotes, as in "text".';
  const colour = /^#?([0-9a-fA-F]{3,8})\b/.exec(after)?.[1];
  if (character === "#" && colour !== undefined) return `Write a color by its number as rgb("#${colour}").`;
  if (character === "\\") return "In code no sign needs a \\: put a text in quotes, or in [ … ].";
  if (character === "%") return "calc.rem(7, 2) is the remainder of a division.";
  if (character === "?") return "Write a choice as if a { b } else { c }.";
  return character === "#" ? "In code, write a name without #." : null;
};

const PLACE = /^(?:left|right|center|start|end|top|bottom|horizon)$/;
const UNIT = /^(?:pt|mm|cm|in|em|fr|%)$/;

const explainComma: Explain = (_, { before, after }) => {
  const [, first = ""] = /(\d?[a-z]*)$/.exec(before) ?? [];
  const [, next = ""] = /^\s+([a-z%]+)/.exec(after) ?? [];
  if (/^\d$/.test(first) && UNIT.test(next)) return "A unit follows its number without a space, as in 5cm.";
  if (/^\d[a-z]+$/.test(first) && next !== "") return "Add thickness and color, as in 1pt + red.";
  if (PLACE.test(first) && PLACE.test(next)) return "Add two alignments, as in center + horizon.";
  return "Put a comma between two entries, and a colon after the name of an option, as in columns: 2.";
};

const explainEnd: Explain = (_, { before, after }) => {
  if (/\blet\s+[\w-]+$/.test(before) && /^\s+\w/.test(after)) return "A name has no spaces: my-name.";
  if (/\blet\s+[\w-]+\s*$/.test(before)) return "Put several names in parentheses, as in #let (a, b) = (1, 2).";
  if (/^\s*if\b/.test(after)) return "Write a choice as if a { b } else { c }.";
  return /\d\s*$/.test(before)
    ? "The statement ends before this. A decimal number has a point, as in 1.5."
    : "The statement ends before this: begin the next one on a new line, or after a semicolon.";
};

const explainMissing: Explain = ([name = ""], { before }) => {
  if (/#show\s*:\s*$/.test(before))
    return "After #show:, give a template its options by .with, as in #show: letter.with(…).";
  if (name === "body")
    return "Put what it is for in [ … ] after it, or use #set for all that follows, as in #set page(margin: 2cm).";
  return `The function needs a value for ${name}.`;
};

const explainFunction: Explain = ([type = ""], { marked }) => {
  if (/^["([]/.test(marked)) return "A function belongs here, as in item => item.price.";
  if (type === "alignment") return `Give a place by align: #align(${marked})[ … ].`;
  if (type === "color") return `Give a color to a text: #text(${marked})[ … ].`;
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
  if (type === "string") return "The value before the point is a text, which has no members.";
  return "An array has items: .at(0) is one, and for goes through them. In a CSV, row-type: dictionary names the cells.";
};

const explainUnexpectedComma: Explain = (_, { before }) => {
  return /\bfor\s+[\w-]+\s*$/.test(before)
    ? "Put two names in parentheses: for (key, value) in data [ … ]."
    : "An entry is missing before this comma.";
};

const explainNumber: Explain = (_, { before }) => {
  if (/\b(?:rotate|skew)\($/.test(before)) return "An angle has a unit, as in 90deg.";
  if (/\b(?:grid|table)\($/.test(before)) return "Name the number: columns: 2.";
  return /\bheading\($/.test(before) ? "Name the number: level: 1." : MAKES_TEXT;
};

/** Whatever else is expected: how it is written. */
const explainExpected: Explain = ([expected = "", found = ""], { before, marked }) => {
  if (/^\[\d+\]$/.test(marked) && /[\w)]$/.test(before)) return "Write an item as .at(0), as in data.items.at(0).";
  const written = expected.split(/, (?:or )?| or /).flatMap((type) => TYPES.get(type)?.[0] ?? []);
  const is = TYPES.get(found)?.[1];
  if (written.length === 0 || is === undefined) return null;
  const values = new Intl.ListFormat("en", { type: "disjunction" }).format(written.slice(0, 3));
  return `A value such as ${values} belongs here, not ${is}.`;
};

const explainModule: Explain = ([module = "", name = ""]) => {
  if (METHODS.includes(name)) return `Put it after its value, as in data.items.${name}(…).`;
  return module === "calc" ? didYouMean(similarName(name, CALCULATIONS)).trim() || null : null;
};

const explainBlock: Explain = (_, { after }) => {
  if (/^\s*is\b/.test(after)) return "Write a comparison with ==.";
  return "Put what to do in [ … ] or { … }, without “then”, “do” or a colon.";
};

const explainCondition: Explain = (_, { before, marked }) => {
  if (!/\b(?:if|while)\s*\(?$|\b(?:and|or|not)\s*$/.test(before)) return "Write true or false, without quotes.";
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
    return ".enumerate() numbers the items: for (i, item) in data.items.enumerate().";
  const longer = names().find((known) => known.startsWith(`${name} `) || known.startsWith(`${name}.`));
  if (longer !== undefined) return `The data has “${longer}”: .at("${longer}") reads it.`;
  if (/^(?:keys|values|pairs|len)$/.test(name)) return `A method has parentheses: .${name}().`;
  const meant = didYouMean(similarName(name, names()));
  return meant !== "" ? meant.trim() : `Check the data, or allow for that: .at("${name}", default: none).`;
};

/** Typst lists all words that may stand there. */
const explainWord: Explain = ([list = ""], { marked }) => {
  const meant = similarWord(marked, list);
  return meant === null ? null : `Did you mean "${meant}"?`;
};

const explainItem: Explain = (_, { marked, after }) => {
  return /\[|^$/.test((marked + after).replace(/^[^([]*/, "").charAt(0))
    ? 'Write an item as .at(0), as in data.items.at(0), and a member as .at("name").'
    : "This is a value, not a function: write it without parentheses.";
};

const explainColon: Explain = (_, { before }) => {
  return /\{[^}]*$/.test(before)
    ? 'Put a dictionary in parentheses, as in (name: "Ada", age: 36).'
    : "Put a colon between a name and its value, as in (a: 1) and f(a: 1).";
};

const explainNoExpression: Explain = (_, { before, marked, after }) => {
  const line = before + marked + after;
  if (before.endsWith("#")) return "After # comes a name or code. A heading begins with =, and the sign itself is \\#.";
  if (/->/.test(line)) return "Write a function with =>, as in it => it.body.";
  if (/\+\+|--/.test(line)) return "Write a step as i += 1.";
  if (/\*\*/.test(line)) return "Write a power as calc.pow(5, 2).";
  return "A value or a call belongs here. Put text within code in [ … ].";
};

/** Values that have names, although other languages take them by their place. */
const NAMED_VALUES = [
  [/\.at\([^()]*$/, 'at("name", default: none)'],
  [/\bassert\([^()]*$/, 'assert(total > 0, message: "…")'],
  [/\brange\([^()]*$/, "range(0, 10, step: 2)"],
  [/\.join\([^()]*$/, 'join(", ", last: " and ")'],
] as const;

const explainArgument: Explain = (_, { before }) => {
  const named = NAMED_VALUES.find(([call]) => call.test(before));
  if (named !== undefined) return `This value has a name, as in ${named[1]}.`;
  if (/\bdatetime\($/.test(before)) return "Name the parts of a date: datetime(year: 2026, month: 10, day: 5).";
  return "The function takes no such value here. Options have names, as in size: 12pt; center and red have no quotes.";
};

const IS_CONTENT =
  "[ … ] makes content, not a text: keep the text itself in quotes. A heading or link shows its .body.";
const IS_NONE = "A value here is none: the data lacks it, or a function returns nothing.";
const READ_NUMBER = "A number in quotes is a text: int(…), float(…) or decimal(…) reads it.";
const MAKES_TEXT = "str(…) turns a number into text.";
const NEEDS_UNIT = "A length needs a unit: pt, mm, cm, em or %.";

const MEANINGS: readonly (readonly [message: RegExp, meaning: string | Explain])[] = [
  [/^invalid number suffix: `?([^`]*)`?/, ([unit = ""]) => `“${unit}” is not a unit here: write pt, mm, cm, em or %.`],
  [/^unclosed delimiter/, explainOpen],
  [/^unclosed string/, 'End a text that begins with " with another one.'],
  [/^unclosed raw text/, "A ` begins code, and as many of them end it."],
  [/^the character `([^`]*|`)` is not valid in code/, explainCharacter],
  [/^unexpected keyword `else`/, "Put it on the line where the block of its if ends: ] else [."],
  [/^(?:unexpected|expected) keyword `in`/, "Write for without parentheses: for item in data.items [ … ]."],
  [/^unexpected closing/, "Nothing is open here: this one is too many, or its opening one is missing."],
  [/^unexpected colon/, explainColon],
  [/^expected colon/, "Put a colon after the selector of a show rule, as in #show heading: it => [ … ]."],
  [/^expected comma/, explainComma],
  [/^expected expression, found (?:named|keyed) pair/, "A value has a name only in (a: 1) and in f(a: 1)."],
  [/^expected expression/, explainNoExpression],
  [/^label .* occurs multiple times/, "Give each place a label of its own."],
  [/^label .* does not exist/, "An @ begins a reference. In an address or another text write \\@."],
  [/^package specification is missing version/, 'Put the version after a colon, as in "@preview/name:1.0.0".'],
  [/^unresolved import/, "The file defines no such name by #let."],
  [/would escape the \w+ root/, "All files are in the request: name them by their paths there."],
  [/^unknown image format/, "An image is a PNG, JPEG, GIF, WebP, SVG or PDF."],
  [/^dictionary does not contain key "([^"]*)"/, explainMember],
  [/^unknown variable: (\S+)/, explainName],
  [/^cannot mutate a constant/, "Give an option with a colon, as in columns: 2; #let gives a name a value."],
  [/^cannot mutate a temporary value/, "Only a name defined by #let can change."],
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
    "A function returns a value, and cannot change what is defined outside it: data.items.map(…).sum() makes a total.",
  ],
  [/^maximum function call depth/, "The function calls itself without end."],
  [
    /^only element functions can be used in set/,
    "set works for functions of Typst, such as text: pass options to yours in the call.",
  ],
  [/^(?:page configuration is|document set rules are) not/, "Put such a rule outside of blocks, boxes and tables."],
  [/^pagebreaks are not allowed/, "End a page outside of blocks, boxes and tables."],
  [/^cannot add (?:integer|float|decimal) and (?:string|content)/, MAKES_TEXT],
  [/^cannot add (?:string|content) and (?:integer|float|decimal)/, MAKES_TEXT],
  [/^cannot add .*\b(?:length|ratio)\b/, NEEDS_UNIT],
  [/^cannot add .*\bnone\b/, IS_NONE],
  [/^cannot join .*\b(?:integer|float|decimal)\b/, "[#i] shows a number, and str(…) turns it into text."],
  [/^cannot join /, "A block joins its values, and these cannot be joined: [#x] shows a value."],
  [
    /^cannot apply '-' to string/,
    "In code, write an item of a list as [- #item], and a number without quotes: float(…) reads one.",
  ],
  [/^cannot (?:apply '[-+]'|multiply|divide|subtract|compare) .*\bstring\b/, READ_NUMBER],
  [/^cannot (?:multiply|divide|subtract|compare) .*\bnone\b/, IS_NONE],
  [
    /^string contains invalid digits|^invalid (?:float|decimal)/,
    "A number has digits only, and a point for its decimals: 1.5.",
  ],
  [/^cannot calculate (?:sum|product) of empty array/, ".sum(default: 0) works without items, too."],
  [/^array is empty/, "It is empty: .at(0, default: none) allows for that."],
  [/^cannot directly call dictionary keys/, explainItem],
  [/^expected function, found (?:array|dictionary)/, explainItem],
  [/^expected function, found (\S+)/, explainFunction],
  [/^module `([^`]*)` does not contain `([^`]*)`/, explainModule],
  [
    /^expected content, found array/,
    "An array holds several values: .. passes them one by one, as in table(..rows.flatten()).",
  ],
  [/^expected content, found dictionary/, "A dictionary holds several values: choose one, as in data.customer.name."],
  [
    /^expected content, found (?:auto|length|fraction|relative|ratio)/,
    "Put several values of one option in parentheses, as in columns: (auto, 1fr).",
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
  [/^cannot loop over content/, "Put an array in parentheses, as in (1, 2, 3)."],
  [/^cannot loop over/, "for goes through an array, such as range(3)."],
  [/^cannot spread|^cannot destructure/, "This takes an array apart, but the value is none."],
  [/^cannot access fields on type (\S+)/, explainAccess],
  [/^(?:type|function) `?([^` ]+)`? does not contain field `([^`]*)`/, explainField],
  [/^type \S+ does not have a constructor/, "This is not a function. Give a color as an option: text(fill: blue)."],
  [/^unexpected comma/, explainUnexpectedComma],
  [/^expected semicolon or line break/, explainEnd],
  [/^expected pattern/, "After let comes a name, as in #let total = 5."],
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
