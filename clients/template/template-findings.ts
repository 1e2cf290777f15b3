/**
 * What renders without an error and gives another document than its author expects: a template that reads `sys.inputs`,
 * which is empty in the service, or a file of its own instead of `data`, or that was written for an older Typst, or takes
 * texts for numbers.
 */
import { bindingsOf, knownText, resolved } from "./bindings.ts";
import { argumentsOf, calledBuiltIn, calledName, calleeOf } from "./calls.ts";
import { DATA_FUNCTIONS, isDataFile } from "./file-kinds.ts";
import { readsOf } from "./reads.ts";
import {
  expressionsOf,
  type Kind,
  lastName,
  nodesOf,
  type SyntaxNode,
  stringValue,
  type Template,
  textOf,
} from "./syntax-tree.ts";

export interface TemplateFinding {
  readonly offset: number;
  readonly length: number;
  /** A sentence without its beginning, which is the place: "reads sys.inputs, …". */
  readonly message: string;
}

/** Of a longer text, which a program has made, only what costs little is said. */
export const MAX_NOTED_LENGTH = 200_000;

/** Where `sys.inputs` is read, or `sys` is taken as a whole, if anywhere; a text that binds `sys` anew has its own. */
export function findInputsUse(template: Template, within = template.root): TemplateFinding | null {
  if (!template.text.includes("sys")) return null;
  const found = nodesOf(template, "Ident").find(
    (node) => isIn(node, within) && textOf(template, node) === "sys" && isInputs(template, node),
  );
  if (found === undefined) return null;
  const isBound = within.children.some((node) => node.start <= found.start && bindsSys(template, node));
  return isBound ? null : findingAt(found, "reads sys.inputs");
}

function isIn({ start }: SyntaxNode, within: SyntaxNode): boolean {
  return start >= within.start && start < within.end;
}

/** A finding about a whole node. */
export function findingAt({ start, end }: SyntaxNode, message: string): TemplateFinding {
  return { offset: start, length: end - start, message };
}

/** `let sys = …`, `import … as sys` */
function bindsSys(template: Template, node: SyntaxNode): boolean {
  const parts = node.parts;
  const name = node.kind === "LetBinding" ? parts[1] : node.kind === "ModuleImport" ? parts[3] : undefined;
  return name?.kind === "Ident" && textOf(template, name) === "sys";
}

/** @param node the name `sys` */
function isInputs(template: Template, node: SyntaxNode): boolean {
  const { parent } = node;
  if (parent?.kind === "FieldAccess" && parent.children[0] !== node) {
    // `std.sys` is a member, too, but no other name is.
    if (textOf(template, parent) !== "std.sys") return false;
    const around = parent.parent;
    return around?.kind !== "FieldAccess" || textOf(template, around).endsWith(".inputs");
  }
  if (parent?.kind === "FieldAccess") return textOf(template, parent.children.at(-1) ?? node) === "inputs";
  return !(parent?.kind === "Named" && parent.children[0] === node);
}

/** Where the inputs are read by a name that no file can bind. */
export function findStandardInputs(template: Template): TemplateFinding | null {
  if (!template.text.includes("std")) return null;
  const [found] = nodesOf(template, "FieldAccess").filter((node) => textOf(template, node) === "std.sys");
  return found === undefined ? null : findingAt(found.children[0] ?? found, "reads std.sys.inputs");
}

/** The keys that a text reads of `sys.inputs`; null if it may read any. */
export function inputNames(template: Template): ReadonlySet<string> | null {
  const names = new Set<string>();
  let mayBeAny = !template.isReadable;
  for (const node of nodesOf(template, "Ident")) {
    if (textOf(template, node) !== "inputs") continue;
    const { parent } = node;
    const name = keyRead(template, parent?.kind === "FieldAccess" && parent.children[0] !== node ? parent : node);
    if (name === null) mayBeAny = true;
    else if (name !== "") names.add(name);
  }
  return mayBeAny || names.size === 0 ? null : names;
}

/** The key that is read of the inputs; empty if they are merely named, as in `import sys: inputs`; null for any. */
function keyRead(template: Template, inputs: SyntaxNode): string | null {
  const { parent } = inputs;
  const around = parent?.parent;
  if (parent?.kind === "ImportItemPath") return around?.kind === "RenamedImportItem" ? null : "";
  if (parent?.kind === "FieldAccess") {
    const isCalled = around?.kind === "FuncCall" && around.children[0] === parent;
    return memberRead(template, isCalled ? around : parent);
  }
  if (parent?.kind !== "Binary" || !parent.children.some(({ kind }) => kind === "In")) return null;
  const [key] = parent.children;
  return key?.kind === "Str" && key !== inputs ? stringValue(template, key) : null;
}

/** The name by which all files of a project can read the data of the request. */
const DATA_OF_REQUEST = "/:data.json";

/** The first file of data that a text reads. Texts that are computed, or come by `sys.inputs`, are none. */
export function findDataFile(template: Template, within = template.root): TemplateFinding | null {
  for (const node of nodesOf(template, "FuncCall")) {
    if (!isIn(node, within) || !DATA_FUNCTIONS.has(calledBuiltIn(template, node))) continue;
    const [argument] = argumentsOf(template, node).positional;
    const path = argument === undefined ? null : knownText(template, argument);
    if (path === null || path === DATA_OF_REQUEST || !isDataFile(path)) continue;
    return findingAt(calleeOf(node) ?? node, `reads the file ${path}`);
  }
  return null;
}

/** Whether a text, the source or another file of a project, reads the data of the request as a file. */
export function readsDataFile(template: Template): boolean {
  return template.text.includes(":data.json") && readsOf(template).strings.includes(DATA_OF_REQUEST);
}

/** The names of types as strings, to which `type` no longer equals: those of Typst 0.7, and the later short ones. */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    boolean: "bool",
    integer: "int",
    string: "str",
    "relative length": "relative",
    "2d alignment": "alignment",
    pattern: "tiling",
    color: "color",
  }).concat(
    (
      "bool int float str bytes array dictionary content function arguments length ratio relative angle fraction " +
      "gradient tiling stroke symbol label regex selector version datetime duration decimal alignment direction " +
      "counter state location module"
    )
      .split(" ")
      .map((name) => [name, name]),
  ),
);
const SINGLE_VALUES: ReadonlySet<string> = new Set(["none", "auto"]);
const MAX_SHOWN = 40;

/** Comparisons of a type with a string, which are always false since Typst 0.14, and no error. */
export function findOldTypeNames(template: Template): TemplateFinding[] {
  if (!template.text.includes("type")) return [];
  const found: TemplateFinding[] = [];
  for (const node of nodesOf(template, "Binary")) {
    const [left, right] = [node.children[0], node.children.at(-1)];
    const sign = node.children.find(({ kind }) => kind === "EqEq" || kind === "ExclEq" || kind === "In");
    if (left === undefined || right === undefined || sign === undefined) continue;
    for (const [call, other] of [[left, right] as const, [right, left] as const]) {
      if (call.kind !== "FuncCall" || calledBuiltIn(template, call) !== "type") continue;
      const message = sign.kind === "In" ? describeList(template, call, other) : describe(template, call, sign, other);
      if (message !== null) found.push(findingAt(call, message));
    }
  }
  return found;
}

function argumentText(template: Template, call: SyntaxNode): string {
  const value = textOf(template, call.children.at(-1) ?? call).slice(1, -1);
  return value.length > MAX_SHOWN || value.includes("\n") ? "…" : value;
}

function describe(template: Template, call: SyntaxNode, sign: SyntaxNode, other: SyntaxNode): string | null {
  if (other.kind !== "Str") return null;
  const name = stringValue(template, other);
  const type = TYPES.get(name);
  if (type === undefined && !SINGLE_VALUES.has(name)) return null;
  const [shown, written] = [argumentText(template, call), textOf(template, sign)];
  const instead = type === undefined ? `${shown} ${written} ${name}` : `type(${shown}) ${written} ${type}`;
  const verdict = sign.kind === "EqEq" ? "false" : "true";
  return `type(${shown}) ${written} "${name}" is always ${verdict} since Typst 0.14: write ${instead}`;
}

/** `type(x) in ("string", "integer")` */
function describeList(template: Template, call: SyntaxNode, list: SyntaxNode): string | null {
  const [first] = list.kind === "Array" ? expressionsOf(list) : [];
  const name = first?.kind === "Str" ? stringValue(template, first) : "";
  const type = TYPES.get(name);
  if (type === undefined) return null;
  const shown = argumentText(template, call);
  return `type(${shown}) in ("${name}", …) is always false since Typst 0.14: write type(${shown}) in (${type}, …)`;
}

/** What a sign does with two texts, where its author meant numbers. */
const OF_TEXTS: ReadonlyMap<Kind, string> = new Map([
  ["Plus", "joins"],
  ["PlusEq", "joins"],
  ...(["Lt", "LtEq", "Gt", "GtEq"] as const).map((sign) => [sign, "orders letter by letter"] as const),
]);
/** The same for a text and a number. */
const OF_TEXT_AND_NUMBER: ReadonlyMap<Kind, string> = new Map([
  ["Star", "repeats"],
  ["EqEq", "never finds equal to a number"],
  ["ExclEq", "never finds equal to a number"],
]);

/**
 * The first place where a text is taken for a number without an error: `data.wood + data.glue` joins.
 *
 * @param members those whose values are numbers, as text
 */
export function findTextArithmetic(template: Template, members: ReadonlySet<string>): TemplateFinding | null {
  if (members.size === 0) return null;
  const givenAnew = new Set(
    nodesOf(template, "Named", "Keyed", "Binary", "FuncCall").map((node) => memberSet(template, node)),
  );
  const texts = new Set([...members].filter((name) => !givenAnew.has(name)));
  for (const node of nodesOf(template, "Binary", "FuncCall")) {
    const [text, verb] = textTakenForNumber(template, node, texts) ?? [];
    if (text === undefined) continue;
    const shown = textOf(template, text);
    return findingAt(node, `computes with ${shown}, a text, which Typst ${verb}: write decimal(${shown})`);
  }
  return null;
}

/** The member that `(..row, price: decimal(row.price))`, `row.price = …` or `row.insert("price", …)` sets; null for none. */
function memberSet(template: Template, node: SyntaxNode): string | null {
  const [first] = node.children;
  if (first === undefined) return null;
  switch (node.kind) {
    case "Named":
      return node.parent?.kind === "Dict" ? textOf(template, first) : null;
    case "Keyed":
      return first.kind === "Str" ? stringValue(template, first) : null;
    case "Binary":
      return node.parts.some(({ kind }) => kind === "Eq") ? lastName(template, first) : null;
    default: {
      if (calledName(template, node) !== "insert") return null;
      const [key] = argumentsOf(template, node).positional;
      return key?.kind === "Str" ? stringValue(template, key) : null;
    }
  }
}

/** Whether what a member is read of is certainly something else than the data: `cfg.price` after `let cfg = json("cfg.json")`. */
export function isOfOther(template: Template, member: SyntaxNode): boolean {
  let object = member;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const [inner] = object.children;
    if (inner !== undefined && (object.kind === "FieldAccess" || object.kind === "FuncCall")) object = inner;
    else if (object.kind === "Ident") {
      const value = resolved(template, object);
      // A parameter, the variable of a loop, or a name with several values.
      if (value === object) return false;
      if (value.kind === "FuncCall" && DATA_FUNCTIONS.has(calledBuiltIn(template, value))) return true;
      object = value;
    } else return object.kind === "Dict" || object.kind === "Array";
  }
  return false;
}

function textTakenForNumber(template: Template, node: SyntaxNode, members: ReadonlySet<string>) {
  const memberOf = (one: SyntaxNode | undefined) => (one === undefined ? null : readMember(template, one, members));
  if (node.kind === "FuncCall") {
    const [verb, texts] = combined(template, node);
    const [first] = texts.map(memberOf);
    return first != null && texts.every((one) => memberOf(one) !== null) ? ([first, verb] as const) : null;
  }
  const [left, right] = [node.children[0], node.children.at(-1)];
  const [one, other] = [memberOf(left), memberOf(right)];
  const verbOf = (verbs: ReadonlyMap<Kind, string>) =>
    node.parts.flatMap(({ kind }) => verbs.get(kind) ?? [])[0] ?? null;
  const ofTexts = verbOf(OF_TEXTS);
  if (one !== null && other !== null) return ofTexts === null ? null : ([one, ofTexts] as const);
  const text = one ?? other;
  const isNumber = [left, right].some((part) => part?.kind === "Int" || part?.kind === "Float");
  const verb = verbOf(OF_TEXT_AND_NUMBER);
  // A text times anything but a whole number is an error of its own.
  const isRepeated = node.parts.some(({ kind }) => kind === "Star");
  return text === null || !(isNumber || isRepeated) || verb === null ? null : ([text, verb] as const);
}

/** What a call does with which texts: `sum` with those of an array, `calc.max` and `calc.min` with their arguments. */
function combined(template: Template, call: SyntaxNode): readonly [verb: string, texts: readonly SyntaxNode[]] {
  const callee = calleeOf(call);
  const name = callee?.kind === "FieldAccess" ? textOf(template, callee) : "";
  if (/^(?:std\.)?calc\.(?:max|min)$/.test(name)) {
    return ["orders letter by letter", argumentsOf(template, call).positional];
  }
  const array = callee !== undefined && name.endsWith(".sum") ? resolved(template, callee.children[0] ?? callee) : null;
  if (array?.kind === "Array") return ["joins", expressionsOf(array)];
  const made = array?.kind === "FuncCall" && calledName(template, array) === "map" ? array : null;
  const [closure] = made === null ? [] : argumentsOf(template, made).positional;
  const value = closure?.kind === "Closure" ? closure.children.at(-1) : undefined;
  return ["joins", value === undefined ? [] : [value]];
}

/** Nobody adds so often to one name, but a program. */
const MAX_VALUES = 20;
/** Nor so many members in one expression. */
const MAX_DEPTH = 32;

/** The first of the members that an expression is or adds; null if it is anything else. */
function readMember(
  template: Template,
  node: SyntaxNode,
  members: ReadonlySet<string>,
  followsNames = true,
  depth = 0,
): SyntaxNode | null {
  if (depth > MAX_DEPTH) return null;
  const value = resolved(template, node);
  if (value.kind === "Ident") {
    const { values = [], isOther = true } = bindingsOf(template).get(textOf(template, value)) ?? {};
    if (!followsNames || isOther || values.length > MAX_VALUES) return null;
    // All that it is given, and that is added to it.
    const read = values.map((one) => readMember(template, one, members, false, depth + 1));
    return read.includes(null) ? null : (read[0] ?? null);
  }
  const name = memberRead(template, value);
  if (name !== null) return members.has(name) && !isOfOther(template, value) ? value : null;
  if (value.kind !== "Binary" || !value.parts.some(({ kind }) => kind === "Plus")) return null;
  const [left, right] = [value.children[0], value.children.at(-1)].map((side) =>
    side === undefined ? null : readMember(template, side, members, followsNames, depth + 1),
  );
  return right === null || right === undefined ? null : (left ?? null);
}

/** The name in `row.price` and `row.at("price")`; null for anything else. */
function memberRead(template: Template, node: SyntaxNode): string | null {
  if (node.kind === "FieldAccess") return lastName(template, node);
  if (node.kind !== "FuncCall" || calledName(template, node) !== "at") return null;
  const [key] = argumentsOf(template, node).positional;
  return key?.kind === "Str" ? stringValue(template, key) : null;
}
