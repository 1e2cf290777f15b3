/** An implementation that lacks a rule, has another order or limit, fails on at least one published vector. */
import { describe, expect, it } from "vitest";
import { FILES_VECTORS, OUTPUT_VECTORS } from "../../rules/conformance-vectors.ts";
import { bodyOf } from "../support/rules/bodies.ts";
import { limitsWith } from "../support/rules/limits-for-tests.ts";
import { KEY_RULES, type KeyRules, OUTPUT_RULES, type OutputRules } from "../support/rules/published-rules-client.ts";
import { validateSlowly } from "../support/rules/slow-validator.ts";

const LIMITS = limitsWith({ max_inline_files: 1024 });

interface Vector {
  readonly code: string | null;
  readonly rule: string | null;
}

/** Whether the validator with these changes has the verdict of a vector. */
function agrees(
  members: string,
  { code, rule }: Vector,
  keys: Partial<KeyRules>,
  output: Partial<OutputRules>,
): boolean {
  const rules = { keys: { ...KEY_RULES, ...keys }, output: { ...OUTPUT_RULES, ...output } };
  const found = validateSlowly(bodyOf(`{"source":"x",${members}}`), LIMITS, rules);
  return found.code === code && (found.code === null || (found.context.rule ?? null) === rule);
}

function noticedInKeys(changes: Partial<KeyRules>): boolean {
  return FILES_VECTORS.some((vector) => {
    const files = vector.keys.map((key) => `${JSON.stringify(key)}:{"encoding":"text","content":""}`);
    return !agrees(`"files":{${files.join()}}`, vector, changes, {});
  });
}

function noticedInOutput(changes: Partial<OutputRules>): boolean {
  return OUTPUT_VECTORS.some((vector) => !agrees(`"output":${JSON.stringify(vector.output)}`, vector, {}, changes));
}

/** Each number one higher and one lower, each list without one of its items. */
function changedValues(rules: object): [name: string, changes: object][] {
  return Object.entries(rules).flatMap(([name, value]): [string, object][] => {
    if (typeof value === "number") return [-1, 1].map((step) => [`${name} ${value + step}`, { [name]: value + step }]);
    if (!Array.isArray(value)) return [];
    return value.map((item, index) => [`${name} without ${item.id ?? item}`, { [name]: value.toSpliced(index, 1) }]);
  });
}

/** Each item of a list before each earlier one. */
function reordered<T>(list: readonly T[]): T[][] {
  return list.flatMap((item, from) =>
    list.slice(0, from).map((_, to) => list.toSpliced(from, 1).toSpliced(to, 0, item)),
  );
}

const CHARACTERS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).filter(
  (character) => character !== "/" && (character >= " " || "\n\t\0\r".includes(character)),
);

const KEY_MISTAKES: readonly [name: string, changes: Partial<KeyRules>][] = [
  ...changedValues(KEY_RULES),
  ...reordered(KEY_RULES.order).map((order): [string, Partial<KeyRules>] => [order.join(", "), { order }]),
  ...CHARACTERS.map((character): [string, Partial<KeyRules>] => [
    `${JSON.stringify(character)} the other way round`,
    { isCharacter: (c) => KEY_RULES.isCharacter(c) !== (c === character) },
  ]),
  ["any letter of any script", { isCharacter: (c) => /^[\p{L}A-Za-z0-9._-]$/u.test(c) }],
  ["no segment of dots but . and ..", { isOnlyDots: (segment) => segment === "." || segment === ".." }],
  ["no segment that begins with a dot", { isOnlyDots: (segment) => segment.startsWith(".") }],
  ["no folding", { fold: (key) => key }],
  ["any key that begins alike as a directory", { isAncestor: (file, key) => file !== key && key.startsWith(file) }],
  ["the parent alone", { isAncestor: (file, key) => key.replace(/\/[^/]*$/, "") === file && key !== file }],
];

const RULE_IDS = OUTPUT_RULES.rules.map(({ id }) => id);

/** Rules that no output can break together: one is for PDF and the other for images, or they need three standards. */
function canMeet(first: string, second: string): boolean {
  const [i = 0, j = 0] = [RULE_IDS.indexOf(first) + 1, RULE_IDS.indexOf(second) + 1].toSorted((a, b) => a - b);
  return !(i >= 5 && i <= 10 && j >= 11) && !["5+7", "6+7", "6+9", "11+12"].includes(`${i}+${j}`);
}

const OUTPUT_MISTAKES: readonly [name: string, changes: Partial<OutputRules>][] = [
  ...changedValues(OUTPUT_RULES),
  ...OUTPUT_RULES.rules.flatMap((rule, from) =>
    OUTPUT_RULES.rules.slice(0, from).flatMap((earlier, to): [string, Partial<OutputRules>][] => {
      const rules = OUTPUT_RULES.rules.toSpliced(from, 1).toSpliced(to, 0, rule);
      return canMeet(rule.id, earlier.id) ? [[`${rule.id} before ${earlier.id}`, { rules }]] : [];
    }),
  ),
  ["another default format", { defaultFormat: "png" }],
  ["numbers with a fraction", { isInteger: Number.isFinite }],
  ["pages of at most 32 bits", { isInteger: (value) => Number.isInteger(value) && value < 2 ** 32 }],
  ["pages measured in UTF-16 units", { lengthOf: (pages) => pages.length }],
  ["leading zeros", { selection: /^[0-9]{1,9}(?:-(?:[0-9]{1,9})?)?$/ }],
  ["a line feed at the end", { selection: /^[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?\n?$/ }],
  ["no open ranges", { selection: /^[1-9][0-9]{0,8}(?:-[1-9][0-9]{0,8})?$/ }],
  ["ends compared as text", { isBackwards: (first, last) => last < first }],
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
