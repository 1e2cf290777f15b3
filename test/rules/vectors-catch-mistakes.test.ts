/** An implementation that lacks a rule, has another order or limit, fails on at least one published vector. */
import { describe, expect, it } from "vitest";
import { FILES_VECTORS, OUTPUT_VECTORS } from "../../rules/conformance-vectors.ts";
import {
  KEY_RULES,
  type KeyRules,
  OUTPUT_RULES,
  type OutputRules,
  validateKeys,
  validateOutput,
} from "../support/rules/published-rules-client.ts";

function noticedInKeys(changes: Partial<KeyRules>): boolean {
  const rules = { ...KEY_RULES, ...changes };
  return FILES_VECTORS.some(({ keys, code, rule }) => {
    const found = validateKeys(keys, rules);
    return found.code !== code || found.rule !== rule;
  });
}

function noticedInOutput(changes: Partial<OutputRules>): boolean {
  const rules = { ...OUTPUT_RULES, ...changes };
  return OUTPUT_VECTORS.some(({ output, code, rule }) => {
    const found = validateOutput(output, rules);
    return found.code !== code || found.rule !== rule;
  });
}

type Mistake<Rules> = readonly [name: string, changes: Partial<Rules>];

const inKeys = (name: string, changes: Partial<KeyRules>): Mistake<KeyRules> => [name, changes];
const inOutput = (name: string, changes: Partial<OutputRules>): Mistake<OutputRules> => [name, changes];

function shifted<Rules>(rules: Rules, names: readonly (keyof Rules & string)[]): Mistake<Rules>[] {
  return names.flatMap((name) =>
    [-1, 1].map((step): Mistake<Rules> => {
      const changes: Partial<Rules> = {};
      Object.assign(changes, { [name]: Number(rules[name]) + step });
      return [`${name} ${step > 0 ? "one higher" : "one lower"}`, changes];
    }),
  );
}

const without = <T>(list: readonly T[], index: number) => list.toSpliced(index, 1);

function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const item = list[from];
  return item === undefined ? [...list] : list.toSpliced(from, 1).toSpliced(to, 0, item);
}

const inAnyCase = (list: readonly string[]) => [...list, ...list.map((text) => text.toUpperCase())];

const CHARACTERS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter((c) => c !== "/");
const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];

const KEY_MISTAKES: readonly Mistake<KeyRules>[] = [
  // `minSegmentLength` is not lowered: another rule requires a segment to have a character other than a dot.
  ...shifted(KEY_RULES, ["maxSegmentLength", "maxKeyLength", "maxKeys"]),
  ["minSegmentLength one higher", { minSegmentLength: 2 }],
  ["minKeyLength one higher", { minKeyLength: 2 }],
  ["empty segments", { minSegmentLength: 0 }],
  ...CHARACTERS.filter((character) => character >= " " || "\n\t\0\r".includes(character)).map((character) =>
    inKeys(`${JSON.stringify(character)} the other way round`, {
      isCharacter: (c) => KEY_RULES.isCharacter(c) !== (c === character),
    }),
  ),
  ["any letter of any script", { isCharacter: (c) => /^[\p{L}A-Za-z0-9._-]$/u.test(c) }],
  ["any character beyond ASCII", { isCharacter: (c) => KEY_RULES.isCharacter(c) || c > "\u007f" }],
  ["no segment of dots but . and ..", { isOnlyDots: (segment) => segment === "." || segment === ".." }],
  ["no segment of up to three dots", { isOnlyDots: (segment) => /^\.{1,3}$/.test(segment) }],
  ["segments of dots", { isOnlyDots: () => false }],
  ["no segment that begins with a dot", { isOnlyDots: (segment) => segment.startsWith(".") }],
  ["a line feed at the end, as $ lets pass", { prepare: (key) => key.replace(/\n$/, "") }],
  ["a slash at the front", { prepare: (key) => key.replace(/^\//, "") }],
  ["a slash at the end", { prepare: (key) => key.replace(/\/$/, "") }],
  ["backslashes as slashes", { prepare: (key) => key.replaceAll("\\", "/") }],
  ["no folding", { fold: (key) => key }],
  ...LETTERS.map((letter) =>
    inKeys(`${letter} not folded`, {
      fold: (key) => key.replace(/[A-Z]/g, (c) => (c === letter ? c : c.toLowerCase())),
    }),
  ),
  ["folding of dots at the end, as Windows does", { fold: (key) => key.toLowerCase().replace(/\.+(?=\/|$)/g, "") }],
  ["any key that begins alike as a directory", { isAncestor: (file, key) => file !== key && key.startsWith(file) }],
  ["the parent alone", { isAncestor: (file, key) => key.replace(/\/[^/]*$/, "") === file && key !== file }],
  ["the first directory alone", { isAncestor: (file, key) => key.includes("/") && key.split("/")[0] === file }],
  ...KEY_RULES.order.map((id, index) => inKeys(`no ${id}`, { order: without(KEY_RULES.order, index) })),
  ...KEY_RULES.order.flatMap((id, from) =>
    [0, 1, 2]
      .filter((to) => to !== from)
      .map((to) => inKeys(`${id} in place ${to}`, { order: moved(KEY_RULES.order, from, to) })),
  ),
];

const RULE_IDS = OUTPUT_RULES.rules.map(({ id }) => id);
/** Pairs of rules that no output can break: one for PDF and one for images, and pairs that need three standards. */
function canMeet(first: string, second: string): boolean {
  const [i, j] = [RULE_IDS.indexOf(first) + 1, RULE_IDS.indexOf(second) + 1].toSorted((a, b) => a - b);
  if (i === undefined || j === undefined) return false;
  return !(i >= 5 && i <= 10 && j >= 11) && !["5+7", "6+7", "6+9", "11+12"].includes(`${i}+${j}`);
}

function reordered(): Mistake<OutputRules>[] {
  return RULE_IDS.flatMap((second, j) =>
    RULE_IDS.slice(0, j)
      .filter((first) => canMeet(first, second))
      .map((first) =>
        inOutput(`${second} before ${first}`, { rules: moved(OUTPUT_RULES.rules, j, RULE_IDS.indexOf(first)) }),
      ),
  );
}

type ListName = "formats" | "versions" | "standards" | "archives" | "taggedStandards" | "pdfA4Standards" | "nullable";

const withoutEach = (name: ListName) =>
  OUTPUT_RULES[name].map((item, index) =>
    inOutput(`${name} without ${item}`, { [name]: without(OUTPUT_RULES[name], index) }),
  );

const withMore = (name: ListName, items: readonly string[]) =>
  items.map((item) => inOutput(`${name} with ${item}`, { [name]: [...OUTPUT_RULES[name], item] }));

const OUTPUT_MISTAKES: readonly Mistake<OutputRules>[] = [
  ...RULE_IDS.map((id, index) => inOutput(`no ${id}`, { rules: without(OUTPUT_RULES.rules, index) })),
  ...reordered(),
  ...shifted(OUTPUT_RULES, ["maxStandards", "minPage", "minPpi", "maxPpi", "maxLength", "maxSelections"]),
  ...(
    ["formats", "versions", "standards", "archives", "taggedStandards", "pdfA4Standards", "nullable"] as const
  ).flatMap(withoutEach),
  ...withMore("versions", ["1.3", "1.8", "2.1", "1"]),
  ...withMore("taggedStandards", ["a-2b", "a-1b", "a-3u", "a-2u", "a-3b", "a-4", "a-4f", "a-4e"]),
  ...withMore("pdfA4Standards", ["a-3a", "a-2b"]),
  ...withMore("nullable", ["standards", "ppi"]),
  ["another default format", { defaultFormat: "png" }],
  ...Object.entries(OUTPUT_RULES.pdfAVersion).flatMap(([standard, required]) =>
    OUTPUT_RULES.versions
      .filter((version) => version !== required)
      .map((version) =>
        inOutput(`${standard} with version ${version}`, {
          pdfAVersion: { ...OUTPUT_RULES.pdfAVersion, [standard]: version },
        }),
      ),
  ),
  ...Object.entries(OUTPUT_RULES.fields).flatMap(([format, names]) => [
    ...names
      .filter((name) => name !== "format")
      .map((name) =>
        inOutput(`${format} without ${name}`, {
          fields: { ...OUTPUT_RULES.fields, [format]: names.filter((other) => other !== name) },
        }),
      ),
    ...["version", "standards", "page", "archive", "ppi", "colour"]
      .filter((name) => !names.includes(name) && !(name === "colour" && format !== "pdf"))
      .map((name) =>
        inOutput(`${format} with ${name}`, { fields: { ...OUTPUT_RULES.fields, [format]: [...names, name] } }),
      ),
  ]),
  ["numbers with a fraction", { isInteger: Number.isFinite }],
  ["pages of at most nine digits", { isInteger: (value) => Number.isInteger(value) && value < 1e9 }],
  ["pages of at most 32 bits", { isInteger: (value) => Number.isInteger(value) && value < 2 ** 32 }],
  ["archives in any case", { archives: inAnyCase(OUTPUT_RULES.archives) }],
  ["standards in any case", { standards: inAnyCase(OUTPUT_RULES.standards) }],
  ["formats in any case", { formats: inAnyCase(OUTPUT_RULES.formats) }],
  ["pages measured in UTF-16 units", { lengthOf: (pages) => pages.length }],
  ["pages measured in bytes", { lengthOf: (pages) => Buffer.byteLength(pages) }],
  ["selections trimmed", { split: (pages) => pages.split(",").map((selection) => selection.trim()) }],
  ["empty selections left out", { split: (pages) => pages.split(",").filter((selection) => selection !== "") }],
  ["semicolons between selections", { split: (pages) => pages.split(/[,;]/) }],
  ...[
    ["leading zeros", /^[0-9]{1,9}(?:-(?:[0-9]{1,9})?)?$/],
    ["ten digits", /^[1-9][0-9]{0,9}(?:-(?:[1-9][0-9]{0,8})?)?$/],
    ["eight digits", /^[1-9][0-9]{0,7}(?:-(?:[1-9][0-9]{0,8})?)?$/],
    ["a line feed at the end", /^[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?\n?$/],
    ["anything after a match", /^[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?/],
    ["anything before a match", /[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?$/],
    ["lines of their own", /^[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?$/m],
    ["digits of other scripts", /^(?!0)\p{Nd}{1,9}(?:-(?:(?!0)\p{Nd}{1,9})?)?$/u],
    ["no open ranges", /^[1-9][0-9]{0,8}(?:-[1-9][0-9]{0,8})?$/],
    ["ranges open at the front", /^(?:[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?|-[1-9][0-9]{0,8})$/],
    ["no ranges", /^[1-9][0-9]{0,8}$/],
    ["another dash", /^[1-9][0-9]{0,8}(?:[-\u2013](?:[1-9][0-9]{0,8})?)?$/],
    ["spaces around the hyphen", /^[1-9][0-9]{0,8}(?: ?- ?(?:[1-9][0-9]{0,8})?)?$/],
    ["a sign", /^[+]?[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?$/],
    ["end as a page", /^[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8}|end)?)?$/],
  ].map(([name, selection]) => inOutput(String(name), { selection: new RegExp(selection ?? "") })),
  ["ends compared as text", { isBackwards: (first, last) => last < first }],
  ["ends that may not be equal", { isBackwards: (first, last) => Number(last) <= Number(first) }],
  ["ends compared by their first digit", { isBackwards: (first, last) => Number(last[0]) < Number(first[0]) }],
];

describe("the vectors for keys", () => {
  it("agree with an implementation that makes no mistake", () => {
    expect(noticedInKeys({})).toBe(false);
  });

  it.each(KEY_MISTAKES)("notice: %s", (_name, changes) => {
    expect(noticedInKeys(changes)).toBe(true);
  });
});

describe("the vectors for output", () => {
  it("agree with an implementation that makes no mistake", () => {
    expect(noticedInOutput({})).toBe(false);
  });

  it.each(OUTPUT_MISTAKES)("notice: %s", (_name, changes) => {
    expect(noticedInOutput(changes)).toBe(true);
  });
});
