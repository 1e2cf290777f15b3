/** What the compiler's commonest messages mean, for people who do not know its words; tried with Typst 0.15. */
import { didYouMean, similarName, similarWord } from "../data-schema/similar-name.ts";
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
  /** Whether it is in the source, which alone sees the data. */
  readonly isInSource: boolean;
  /** Names that the project itself gives. */
  readonly names: () => readonly string[];
  /** The key of the file that defines a name; null if none does. */
  readonly fileThatDefines: (name: string) => string | null;
}

type Explain = (found: readonly string[], text: DiagnosedText) => string | null;

const PLACE = "(?:left|right|center|start|end|top|bottom|horizon)";
const TWO_PLACES = new RegExp(`^${PLACE}-${PLACE}$`);

const explainName: Explain = ([name = ""], { before, after, hints, isInSource, names, fileThatDefines }) => {
  // In a formula, where Typst says that letters stand apart.
  if (hints.some((hint) => hint.includes("multiple letters"))) {
    return /\\\w$/.test(before) ? "Write a formula without backslashes: frac(1, 2), alpha, sum_(i=1)^n." : null;
  }
  if (!isInSource && (name === "data" || name === "request")) {
    return 'Other files do not see the data: pass it to a function of this file, or read it here by #let data = json("/:data.json").';
  }
  if (TWO_PLACES.test(name)) return `Did you mean ${name.replace("-", " + ")}?`;
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
  return null;
};

const explainMethod: Explain = ([name = ""]) => {
  if (CALCULATIONS.includes(name)) return `Did you mean calc.${name}(…)?`;
  const meant = OTHER_METHODS.get(name) ?? (FUNCTIONS.includes(name) ? `${name}(…)` : similarName(name, METHODS));
  return meant === null ? "Look up what such a value can do: its methods." : didYouMean(meant).trim();
};

const explainField: Explain = ([name = "", field = ""]) => {
  const meant = OTHER_METHODS.get(field);
  if (meant !== undefined) return didYouMean(meant).trim();
  return OPTIONS.get(name)?.includes(field) ? `A choice of them is ${name}.where(${field}: …).` : null;
};

const explainAccess: Explain = ([type = ""], { marked, after }) => {
  const name = /^\.?([\w-]+)/.exec(marked.slice(marked.lastIndexOf(".") + 1) + after)?.[1] ?? "";
  const meant = METHODS.includes(name) ? undefined : OTHER_METHODS.get(name);
  if (meant !== undefined) return didYouMean(meant).trim();
  if (METHODS.includes(name) || (type !== "array" && type !== "string")) return `A method has parentheses: .${name}().`;
  if (type === "string") return "The value before the point is a text, which has no members.";
  return "An array has items: .at(0) is one, and for goes through them. In a CSV, row-type: dictionary names the cells.";
};

/** Whatever else is expected: how it is written. */
const explainExpected: Explain = ([expected = "", found = ""]) => {
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

const explainOption: Explain = ([name = ""], { before }) => {
  const called = /([a-z][\w.-]*)\([^()]*$/.exec(before)?.[1];
  const options = called === undefined ? undefined : OPTIONS.get(called);
  const meant = OTHER_OPTIONS.get(name) ?? similarName(name, options ?? [...OPTIONS.values()].flat());
  const isThere = meant !== null && (options?.includes(meant.replace(/:.*/, "")) ?? true);
  if (isThere) return `The function has no option of this name.${didYouMean(meant)}`;
  if (options === undefined || options.length === 0) return "The function has no option of this name.";
  return `The options of ${called} are ${options.join(", ")}.`;
};

const explainMember: Explain = ([name = ""], { names }) => {
  const longer = names().find((known) => known.startsWith(`${name} `) || known.startsWith(`${name}.`));
  if (longer !== undefined) return `The data has “${longer}”: .at("${longer}") reads it.`;
  const meant = didYouMean(similarName(name, names()));
  return meant !== "" ? meant.trim() : `Check the data, or allow for that: .at("${name}", default: none).`;
};

/** Typst lists all words that may stand there. */
const explainWord: Explain = ([list = ""], { marked }) => {
  const meant = similarWord(marked, list);
  return meant === null ? null : `Did you mean "${meant}"?`;
};

const IS_CONTENT =
  "[ … ] makes content, not a text: keep the text itself in quotes. A heading or link shows its .body.";
const IS_NONE = "A value here is none: the data lacks it, or a function returns nothing.";
const READ_NUMBER = "A number in quotes is a text: int(…), float(…) or decimal(…) reads it.";
const MAKES_TEXT = "str(…) turns a number into text.";
const NEEDS_UNIT = "A length needs a unit: pt, mm, cm, em or %.";
const CHOICE = "Write a choice as if a { b } else { c }.";
const HAS_PARENTHESES = "A method has parentheses: .$1().";

/** Where a row counts: what stands before the marked text, in it and after it in its lines. */
interface Where {
  readonly before?: RegExp;
  readonly marked?: RegExp;
  readonly after?: RegExp;
  /** The marked text and what is after it. */
  readonly rest?: RegExp;
  readonly line?: RegExp;
}

const ANYWHERE: Where = {};
const OF_CONDITION = /\b(?:if|while)\s*\(?$|\b(?:and|or|not)\s*$/;

/** The first row that fits counts. In a meaning, $1 is a group of the message or of the places, and $0 the marked text. */
// biome-ignore format: a table.
const MEANINGS: readonly (readonly [message: RegExp, where: Where, meaning: string | Explain])[] = [
  [/^invalid number suffix: `?([^`]*)`?/, ANYWHERE, "“$1” is not a unit here: write pt, mm, cm, em or %."],
  [/^unclosed delimiter/, { after: /\bhttps?:\/\// }, "In code, put an address in quotes."],
  [/^unclosed delimiter/, { after: /\/\/.*[)\]}]/ }, "// begins a comment; a division has one /."],
  [/^unclosed delimiter/, { rest: /^\$\{/ }, "Write #data.name for a value of the data, without $ and braces."],
  [/^unclosed delimiter/, { marked: /^\$/ }, "$ begins a formula, and a second one ends it. For the sign itself write \\$."],
  [/^unclosed delimiter/, { marked: /^\*/ }, "* begins strong text, and a second one ends it. For the sign itself write \\*."],
  [/^unclosed delimiter/, { marked: /^_/ }, "_ begins emphasis, and a second one ends it. For the sign itself write \\_."],
  [/^unclosed delimiter/, { marked: /^\(/ }, "This ( has no ): look where it should end."],
  [/^unclosed delimiter/, { marked: /^\[/ }, "This [ has no ]: look where it should end."],
  [/^unclosed delimiter/, { marked: /^\{/ }, "This { has no }: look where it should end."],
  [/^unclosed string/, ANYWHERE, 'End a text that begins with " with another one.'],
  [/^unclosed raw text/, ANYWHERE, "A ` begins code, and as many of them end it."],
  [/^the character `[“”„‟«»‘’‚']`/, ANYWHERE, 'In code, put a text between straight double quotes, as in "text".'],
  [/^the character `#`/, { after: /^#?([0-9a-fA-F]{3,8})\b/ }, 'Write a color by its number as rgb("#$1").'],
  [/^the character `#`/, ANYWHERE, "In code, write a name without #."],
  [/^the character `\\`/, ANYWHERE, "In code no sign needs a \\: put a text in quotes, or in [ … ]."],
  [/^the character `%`/, ANYWHERE, "calc.rem(7, 2) is the remainder of a division."],
  [/^the character `\?`/, ANYWHERE, CHOICE],
  [/^unexpected keyword `else`/, ANYWHERE, "Put it on the line where the block of its if ends: ] else [."],
  [/^(?:unexpected|expected) keyword `in`/, ANYWHERE, "Write for without parentheses: for item in data.items [ … ]."],
  [/^unexpected closing/, ANYWHERE, "Nothing is open here: this one is too many, or its opening one is missing."],
  [/^unexpected colon/, { before: /\{[^}]*$/ }, 'Put a dictionary in parentheses, as in (name: "Ada", age: 36).'],
  [/^unexpected colon/, ANYWHERE, "Put a colon between a name and its value, as in (a: 1) and f(a: 1)."],
  [/^expected colon/, ANYWHERE, "Put a colon after the selector of a show rule, as in #show heading: it => [ … ]."],
  [/^expected comma/, { before: /\d$/, after: /^\s+(?:pt|mm|cm|in|em|fr|%)(?![a-z%])/ }, "A unit follows its number without a space, as in 5cm."],
  [/^expected comma/, { before: /\d[a-z]+$/, after: /^\s+[a-z%]/ }, "Add thickness and color, as in 1pt + red."],
  [/^expected comma/, { before: new RegExp(`(?<![a-z])${PLACE}$`), after: new RegExp(`^\\s+${PLACE}(?![a-z])`) }, "Add two alignments, as in center + horizon."],
  [/^expected comma/, ANYWHERE, "Put a comma between two entries, and a colon after the name of an option, as in columns: 2."],
  [/^expected expression, found (?:named|keyed) pair/, ANYWHERE, "A value has a name only in (a: 1) and in f(a: 1)."],
  [/^expected expression/, { before: /#$/ }, "After # comes a name or code. A heading begins with =, and the sign itself is \\#."],
  [/^expected expression/, { line: /->/ }, "Write a function with =>, as in it => it.body."],
  [/^expected expression/, { line: /\+\+|--/ }, "Write a step as i += 1."],
  [/^expected expression/, { line: /\*\*/ }, "Write a power as calc.pow(5, 2)."],
  [/^expected expression/, ANYWHERE, "A value or a call belongs here. Put text within code in [ … ]."],
  [/^label .* occurs multiple times/, ANYWHERE, "Give each place a label of its own."],
  [/^label .* does not exist/, ANYWHERE, "An @ begins a reference. In an address or another text write \\@."],
  [/^package specification is missing version/, ANYWHERE, 'Put the version after a colon, as in "@preview/name:1.0.0".'],
  [/^unresolved import/, ANYWHERE, "The file defines no such name by #let."],
  [/would escape the \w+ root/, ANYWHERE, "All files are in the request: name them by their paths there."],
  [/^failed to parse CSV \(found \d+ instead of/, ANYWHERE, 'Each row has as many values as the first. Where ; separates them: csv("rows.csv", delimiter: ";").'],
  [/^unknown image format/, ANYWHERE, "An image is a PNG, JPEG, GIF, WebP, SVG or PDF."],
  [/^dictionary does not contain key/, { before: /\bfor\s*\([^()]*$/ }, ".enumerate() numbers the items: for (i, item) in data.items.enumerate()."],
  [/^dictionary does not contain key "(keys|values|pairs|len)"/, ANYWHERE, HAS_PARENTHESES],
  [/^dictionary does not contain key "([^"]*)"/, ANYWHERE, explainMember],
  [/^unknown variable/, { before: /(?<!\\)\$\d[^$#"]*$/ }, "$ begins a formula, and a second one ends it. For the sign itself write \\$."],
  [/^unknown variable: (\S+)/, ANYWHERE, explainName],
  [/^cannot mutate a constant/, ANYWHERE, "Give an option with a colon, as in columns: 2; #let gives a name a value."],
  [/^cannot mutate a temporary value/, ANYWHERE, "Only a name defined by #let can change."],
  [/^unexpected argument: (\S+)/, ANYWHERE, explainOption],
  // Values that have names, although other languages take them by their place.
  [/^unexpected argument$/, { before: /\.at\([^()]*$/ }, 'This value has a name, as in at("name", default: none).'],
  [/^unexpected argument$/, { before: /\bassert\([^()]*$/ }, 'This value has a name, as in assert(total > 0, message: "…").'],
  [/^unexpected argument$/, { before: /\brange\([^()]*$/ }, "This value has a name, as in range(0, 10, step: 2)."],
  [/^unexpected argument$/, { before: /\.join\([^()]*$/ }, 'This value has a name, as in join(", ", last: " and ").'],
  [/^unexpected argument$/, { before: /\bdatetime\($/ }, "Name the parts of a date: datetime(year: 2026, month: 10, day: 5)."],
  [/^unexpected argument$/, ANYWHERE, "The function takes no such value here. Options have names, as in size: 12pt; center and red have no quotes."],
  [/^missing argument/, { before: /#show\s*:\s*$/ }, "After #show:, give a template its options by .with, as in #show: letter.with(…)."],
  [/^missing argument: body(?!\S)/, ANYWHERE, "Put what it is for in [ … ] after it, or use #set for all that follows, as in #set page(margin: 2cm)."],
  [/^missing argument: (\S+)/, ANYWHERE, "The function needs a value for $1."],
  [/^type string has no method `(?:join|map|filter|sum|sorted|enumerate|zip|flatten|fold|push)`/, ANYWHERE, 'This is a text, not an array: an array with one item has a comma, as in ("a",).'],
  [/^type string has no method `display`/, ANYWHERE, "JSON has no dates, so this is a text: show it as it is, or make a datetime(…) of its parts."],
  [/^type datetime has no method/, ANYWHERE, "Show a date by .display(…)."],
  [/^type \S+ has no method `([^`]*)`/, ANYWHERE, explainMethod],
  [/^element \S+ has no method|does not have field "/, ANYWHERE, IS_CONTENT],
  [/^unexpected key "[^"]*"$/, ANYWHERE, "The sides are left, right, top, bottom, x, y and rest; the corners top-left to bottom-right."],
  [/^variables from outside the function are read-only/, ANYWHERE, "A function returns a value, and cannot change what is defined outside it: data.items.map(…).sum() makes a total."],
  [/^maximum function call depth/, ANYWHERE, "The function calls itself without end."],
  [/^only element functions can be used in set/, ANYWHERE, "set works for functions of Typst, such as text: pass options to yours in the call."],
  [/^(?:page configuration is|document set rules are) not/, ANYWHERE, "Put such a rule outside of blocks, boxes and tables."],
  [/^pagebreaks are not allowed/, ANYWHERE, "End a page outside of blocks, boxes and tables."],
  [/^cannot add (?:integer|float|decimal) and (?:string|content)/, ANYWHERE, MAKES_TEXT],
  [/^cannot add (?:string|content) and (?:integer|float|decimal)/, ANYWHERE, MAKES_TEXT],
  [/^cannot add .*\b(?:length|ratio)\b/, ANYWHERE, NEEDS_UNIT],
  [/^cannot add .*\bnone\b/, ANYWHERE, IS_NONE],
  [/^cannot join .*\b(?:integer|float|decimal)\b/, ANYWHERE, "[#i] shows a number, and str(…) turns it into text."],
  [/^cannot join /, ANYWHERE, "A block joins its values, and these cannot be joined: [#x] shows a value."],
  [/^cannot apply '-' to string/, ANYWHERE, "In code, write an item of a list as [- #item], and a number without quotes: float(…) reads one."],
  [/^cannot (?:apply '[-+]'|multiply|divide|subtract|compare) .*\bstring\b/, ANYWHERE, READ_NUMBER],
  [/^cannot (?:multiply|divide|subtract|compare) .*\bnone\b/, ANYWHERE, IS_NONE],
  [/^string contains invalid digits|^invalid (?:float|decimal)/, ANYWHERE, "A number has digits only, and a point for its decimals: 1.5."],
  [/^cannot calculate (?:sum|product) of empty array/, ANYWHERE, ".sum(default: 0) works without items, too."],
  [/^array is empty/, ANYWHERE, "It is empty: .at(0, default: none) allows for that."],
  [/^cannot directly call dictionary keys|^expected function, found (?:array|dictionary)/, { rest: /^[^([]*(?:\[|$)/ }, 'Write an item as .at(0), as in data.items.at(0), and a member as .at("name").'],
  [/^cannot directly call dictionary keys|^expected function, found (?:array|dictionary)/, ANYWHERE, "This is a value, not a function: write it without parentheses."],
  [/^expected function, found/, { marked: /^["([]/ }, "A function belongs here, as in item => item.price."],
  [/^expected function, found alignment/, ANYWHERE, "Give a place by align: #align($0)[ … ]."],
  [/^expected function, found color/, ANYWHERE, "Give a color to a text: #text($0)[ … ]."],
  [/^expected function, found/, ANYWHERE, "Only a function has parentheses after its name."],
  [/^module `([^`]*)` does not contain `([^`]*)`/, ANYWHERE, explainModule],
  [/^expected content, found array/, ANYWHERE, "An array holds several values: .. passes them one by one, as in table(..rows.flatten())."],
  [/^expected content, found dictionary/, ANYWHERE, "A dictionary holds several values: choose one, as in data.customer.name."],
  [/^expected content, found (?:auto|length|fraction|relative|ratio)/, ANYWHERE, "Put several values of one option in parentheses, as in columns: (auto, 1fr)."],
  [/^expected path.*, found (?:dictionary|array)$/, ANYWHERE, "The data is read already: data.name is a member of it."],
  [/^expected color\b.*, found string|^color string /, ANYWHERE, 'A color is a name without quotes, such as red, or rgb("#ff0000").'],
  [/^expected boolean, found/, { before: OF_CONDITION, marked: /[^=!<>]=[^=>]/ }, "A comparison has two equals signs, as in x == 1."],
  [/^expected boolean, found/, { before: OF_CONDITION }, "A condition is true or false: compare the value, as in x != none."],
  [/^expected boolean, found/, ANYWHERE, "Write true or false, without quotes."],
  [/^invalid component name/, ANYWHERE, "The parts of a date are [day], [month] and [year], those of a time [hour] and [minute]."],
  [/^expected .*, found none$/s, ANYWHERE, IS_NONE],
  [/^expected (?:string|content).*, found (?:integer|float|decimal)$/, { before: /\b(?:rotate|skew)\($/ }, "An angle has a unit, as in 90deg."],
  [/^expected (?:string|content).*, found (?:integer|float|decimal)$/, { before: /\b(?:grid|table)\($/ }, "Name the number: columns: 2."],
  [/^expected (?:string|content).*, found (?:integer|float|decimal)$/, { before: /\bheading\($/ }, "Name the number: level: 1."],
  [/^expected (?:string|content).*, found (?:integer|float|decimal)$/, ANYWHERE, MAKES_TEXT],
  [/^expected .*\blength\b.*, found (?:integer|float)/, ANYWHERE, NEEDS_UNIT],
  [/^expected array.*, found string/, ANYWHERE, 'An array with one item has a comma, as in ("a",).'],
  [/^expected (?:integer|float|boolean).*, found string/, ANYWHERE, READ_NUMBER],
  [/^array index out of bounds/, ANYWHERE, "The array is shorter, and its first item has the index 0."],
  [/^can only be used when context is known/, ANYWHERE, "Write context before it, as in #context counter(page).display()."],
  [/^expected block/, { after: /^\s*is\b/ }, "Write a comparison with ==."],
  [/^expected block/, ANYWHERE, "Put what to do in [ … ] or { … }, without “then”, “do” or a colon."],
  [/^cannot loop over content/, ANYWHERE, "Put an array in parentheses, as in (1, 2, 3)."],
  [/^cannot loop over/, ANYWHERE, "for goes through an array, such as range(3)."],
  [/^cannot spread|^cannot destructure/, ANYWHERE, "This takes an array apart, but the value is none."],
  [/^cannot access fields on type none/, ANYWHERE, "The value before the point is none: the data lacks it."],
  [/^cannot access fields on type (\S+)/, ANYWHERE, explainAccess],
  [/^(?:type|function) `?([^` ]+)`? does not contain field `([^`]*)`/, ANYWHERE, explainField],
  [/^type \S+ does not have a constructor/, ANYWHERE, "This is not a function. Give a color as an option: text(fill: blue)."],
  [/^unexpected comma/, { before: /\bfor\s+[\w-]+\s*$/ }, "Put two names in parentheses: for (key, value) in data [ … ]."],
  [/^unexpected comma/, ANYWHERE, "An entry is missing before this comma."],
  [/^expected semicolon or line break/, { before: /\blet\s+[\w-]+$/, after: /^\s+\w/ }, "A name has no spaces: my-name."],
  [/^expected semicolon or line break/, { before: /\blet\s+[\w-]+\s*$/ }, "Put several names in parentheses, as in #let (a, b) = (1, 2)."],
  [/^expected semicolon or line break/, { after: /^\s*if\b/ }, CHOICE],
  [/^expected semicolon or line break/, { before: /\d\s*$/ }, "The statement ends before this. A decimal number has a point, as in 1.5."],
  [/^expected semicolon or line break/, ANYWHERE, "The statement ends before this: begin the next one on a new line, or after a semicolon."],
  [/^expected pattern/, ANYWHERE, "After let comes a name, as in #let total = 5."],
  [/^expected equals sign/, ANYWHERE, "A definition has an equals sign, as in #let f(x) = [ … ]."],
  [/^expected named or keyed pair/, ANYWHERE, "In a dictionary each value has a name, as in (a: 1, b: 2)."],
  [/^expected (.*"[^"]+".*)/s, ANYWHERE, explainWord],
  [/^expected .+, found .+$/, { before: /[\w)]$/, marked: /^\[\d+\]$/ }, "Write an item as .at(0), as in data.items.at(0)."],
  [/^expected (.+), found (.+)$/, ANYWHERE, explainExpected],
];

/** A sentence or a question; null if the message speaks for itself. @param message as the compiler has it, without hints */
export function explainMessage(message: string, text: DiagnosedText): string | null {
  for (const [pattern, where, meaning] of MEANINGS) {
    const found = groupsOf(pattern.exec(message));
    const groups = found === null ? null : groupsIn(where, text);
    if (found === null || groups === null) continue;
    if (typeof meaning !== "string") return meaning(found, text);
    const [group = ""] = [...found, ...groups];
    return meaning.replace("$1", () => group).replace("$0", () => text.marked);
  }
  return null;
}

/** The groups of all places; null if one does not fit. */
function groupsIn(where: Where, { marked, before, after }: DiagnosedText): string[] | null {
  const texts = { before, marked, after, rest: marked + after, line: before + marked + after };
  const found = (["before", "marked", "after", "rest", "line"] as const).flatMap((place) =>
    where[place] === undefined ? [] : [groupsOf(where[place].exec(texts[place]))],
  );
  return found.includes(null) ? null : found.flatMap((groups) => groups ?? []);
}

function groupsOf(found: RegExpExecArray | null): string[] | null {
  return found?.slice(1) ?? null;
}
