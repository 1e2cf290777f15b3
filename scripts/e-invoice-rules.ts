/**
 * `npm run e-invoice-rules`: compiles the published schemas and Schematron rules of the profiles of e-invoices into
 * `e-invoice/rules/`, so that nothing is left to compile when an invoice is checked. With `--check` it only compares.
 *
 * It reads the rules as XSLT, the form in which all of them are published, and extracts the contexts, the tests, their ids and
 * their messages. The decimals of fontoxpath are binary numbers, so each arithmetic operation of a test is wrapped in a
 * function that rounds its result to the digits that a decimal would have.
 */
/// <reference path="../e-invoice/fontoxpath.d.ts" />
import { readFile, writeFile } from "node:fs/promises";
import { unzipSync } from "fflate";
import { parseScript } from "fontoxpath/dist/fontoxpath.esm.js";
import { Document, type Element, parseXmlDocument } from "slimdom";
import { EXPRESSION_FUNCTIONS, type Rule, type RuleSet, type RuleTest } from "../e-invoice/rule-set.ts";
import { MUSTANG_RULES, mavenArtifact } from "./maven-artifact.ts";

const TARGET = new URL("../e-invoice/rules/", import.meta.url);
const XSL = "http://www.w3.org/1999/XSL/Transform";
const XQUERYX = "http://www.w3.org/2005/XQueryX";
const SPANS = "http://fontoxml.com/fontoxpath";
/** The id in front of a message, which is stored apart. Numbers of the standard within the message stay. */
const ID_IN_FRONT = /^\[[^\]]+\]\s*-?\s*/;

/** A look-up such as `document('…')/codedb/cl[@id=3]/enumeration[@value=$x]`. Here the codes are in the rule set instead. */
const CODE_LIST = /document\('[^']*'\)\/codedb\/cl\[@id=(\d+)\]\/enumeration\[@value=(\$\w+)\]/g;
/** Account numbers are longer than the whole numbers of fontoxpath. */
const REMAINDER = /xs:(?:integer|decimal)\((string-join\(.*\))\)\s+mod\s+97/s;
/** The operations whose results are rounded. */
const OPERATIONS = new Set(["addOp", "subtractOp", "multiplyOp", "divOp"]);

/** Where the rules of each file come from, in the archive. */
const RULE_SETS: readonly { name: string; xslt: string; codes?: string }[] = [
  { name: "minimum", xslt: "ZF_250/FACTUR-X_MINIMUM", codes: "MINIMUM" },
  { name: "basic-wl", xslt: "ZF_250/FACTUR-X_BASIC-WL", codes: "BASIC-WL" },
  { name: "basic", xslt: "ZF_250/FACTUR-X_BASIC", codes: "BASIC" },
  { name: "en16931", xslt: "ZF_250/FACTUR-X_EN16931", codes: "EN16931" },
  { name: "extended", xslt: "ZF_250/FACTUR-X_EXTENDED", codes: "EXTENDED" },
  { name: "cen-en16931", xslt: "en16931schematron/EN16931-CII-validation" },
  { name: "xrechnung", xslt: "XR_30/XRechnung-CII-validation" },
];
const SCHEMAS = {
  minimum: "MINIMUM",
  "basic-wl": "BASIC-WL",
  basic: "BASIC",
  en16931: "EN16931",
  extended: "EXTENDED",
};

const archive = unzipSync(await readFile(await mavenArtifact(MUSTANG_RULES)));
const files = new Map<string, unknown>();
for (const { name, xslt, codes } of RULE_SETS) {
  files.set(
    `${name}.json`,
    compiledRules(text(`xslt/${xslt}.xslt`), codes === undefined ? null : codeListsOf(`xslt/${xslt}_codedb.xml`)),
  );
}
for (const [name, folder] of Object.entries(SCHEMAS))
  files.set(`${name}.schema.json`, schemaFiles(`schema/ZF_250/${folder}/`));

let staleCount = 0;
for (const [name, content] of files) {
  const path = new URL(name, TARGET);
  const json = `${JSON.stringify(content)}\n`;
  if ((await readFile(path, "utf8").catch(() => null)) === json) continue;
  staleCount++;
  if (process.argv.includes("--check")) process.stderr.write(`stale: e-invoice/rules/${name}\n`);
  else await writeFile(path, json);
}
if (process.argv.includes("--check") && staleCount > 0) process.exitCode = 1;
else process.stdout.write(`e-invoice/rules: ${files.size} files, ${staleCount} of them changed\n`);

function text(path: string): string {
  const bytes = archive[path];
  if (bytes === undefined) throw new Error(`The archive has no ${path}`);
  return new TextDecoder().decode(bytes).replaceAll("\r\n", "\n");
}

/** The code lists of a rule set, by their numbers. */
function codeListsOf(path: string): Record<string, string[]> {
  const lists: Record<string, string[]> = {};
  for (const list of parseXmlDocument(text(path)).getElementsByTagName("cl")) {
    const codes = [...list.getElementsByTagName("enumeration")].map((entry) => attribute(entry, "value"));
    lists[attribute(list, "id")] = codes;
  }
  return lists;
}

/** A schema and the files that it imports, by file names. Whitespace between elements is left out. */
function schemaFiles(folder: string): { main: string; files: Record<string, string> } {
  const paths = Object.keys(archive).filter((path) => path.startsWith(folder) && path.endsWith(".xsd"));
  const main = paths.find((path) => !path.includes("_urn_"));
  if (main === undefined) throw new Error(`${folder} has no schema`);
  const short = (path: string) => path.slice(folder.length);
  return {
    main: short(main),
    files: Object.fromEntries(paths.map((path) => [short(path), text(path).replaceAll(/>\s+</g, "><")])),
  };
}

function compiledRules(xslt: string, codes: Record<string, string[]> | null): RuleSet {
  const stylesheet = parseXmlDocument(xslt).documentElement;
  if (stylesheet === null) throw new Error("empty stylesheet");
  const namespaces: Record<string, string> = {};
  for (const { name, value } of stylesheet.attributes) {
    if (name.startsWith("xmlns:") && !/w3\.org\/1999|schematron|saxon/.test(value)) namespaces[name.slice(6)] = value;
  }
  const patterns = new Map<string, Rule[]>();
  for (const template of childrenOf(stylesheet, "template")) {
    const [mode, match] = [template.getAttribute("mode"), template.getAttribute("match")];
    if (mode === null || match === null || !/^[Md]\d+$/.test(mode) || Number(template.getAttribute("priority")) < 0)
      continue;
    const rules = patterns.get(mode) ?? [];
    patterns.set(mode, rules);
    rules.push(compiledRule(template, match));
  }
  const variables = [...childrenOf(stylesheet, "param"), ...childrenOf(stylesheet, "variable")].flatMap(
    (variable): [string, string][] => {
      const select = variable.getAttribute("select");
      return select === null ? [] : [[attribute(variable, "name"), select]];
    },
  );
  const functions = childrenOf(stylesheet, "function").map(functionAsXQuery);
  return {
    namespaces,
    variables,
    ...(functions.length > 0 && {
      functions: [
        `module namespace u = "${namespaces.u}";`,
        `declare namespace e = "${EXPRESSION_FUNCTIONS}";`,
        ...functions,
      ].join(" "),
    }),
    ...(codes !== null && { codes }),
    patterns: [...patterns.values()],
  };
}

function compiledRule(template: Element, match: string): Rule {
  const variables = childrenOf(template, "variable").map((variable): [string, string] => [
    attribute(variable, "name"),
    rounded(attribute(variable, "select")),
  ]);
  const tests = template.children.flatMap((child): RuleTest[] => {
    const [report] = child.localName === "if" ? child.getElementsByTagName("svrl:successful-report") : [];
    if (report !== undefined) return [compiledTest(attribute(child, "test"), report, true)];
    const [assertion] = child.localName === "choose" ? child.getElementsByTagName("svrl:failed-assert") : [];
    if (assertion === undefined) return [];
    const [when] = childrenOf(child, "when");
    return when === undefined ? [] : [compiledTest(attribute(when, "test"), assertion, false)];
  });
  return {
    context: fromRoot(match),
    ...(variables.length > 0 && { variables }),
    tests: tests.filter(({ test }) => test !== "true()"),
  };
}

function compiledTest(test: string, outcome: Element, isReport: boolean): RuleTest {
  const member = (name: string) =>
    childrenOf(outcome, "attribute").find((entry) => entry.getAttribute("name") === name)?.textContent ?? null;
  const [words] = outcome.getElementsByTagName("svrl:text");
  if (words === undefined) throw new Error(`no message for ${test}`);
  const flag = member("flag");
  return {
    id: member("id") ?? /^\s*\[([^\]]+)\]/.exec(words.textContent ?? "")?.[1] ?? "schematron",
    test: rounded(test.replaceAll(CODE_LIST, "e:code('$1', $2)").replace(REMAINDER, "e:mod97($1)")),
    ...(isReport && { report: true }),
    ...((flag === "warning" || flag === "information") && { warning: true }),
    message: messageOf(words),
  };
}

/** A message: texts and expressions in turn, with the expressions at the odd indexes. */
function messageOf(words: Element): string | string[] {
  const parts = [""];
  for (const node of words.childNodes) {
    const select = node.nodeType === node.ELEMENT_NODE ? (node as Element).getAttribute("select") : null;
    if (select === null) parts.push(`${parts.pop() ?? ""}${node.textContent ?? ""}`);
    else parts.push(select, "");
  }
  const clean = parts.map((part) => part.replaceAll(/\s+/g, " "));
  clean[0] = clean[0]?.trimStart().replace(ID_IN_FRONT, "") ?? "";
  return clean.length === 1 ? clean[0].trim() : clean;
}

/** The pattern of a template as a path from the root of the document. */
function fromRoot(pattern: string): string {
  return alternativesOf(pattern)
    .map((part) => (part.startsWith("/") ? part : `//${part}`))
    .join(" | ");
}

function alternativesOf(pattern: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of pattern) {
    if (character === "[" || character === "(") depth++;
    else if (character === "]" || character === ")") depth--;
    if (character === "|" && depth === 0) parts.push("");
    else parts.push(`${parts.pop() ?? ""}${character}`);
  }
  return parts.map((part) => part.trim());
}

/** An XSLT function as an XQuery function. It has no types, because rounded numbers are not decimals. */
function functionAsXQuery(definition: Element): string {
  const parameters = childrenOf(definition, "param").map((parameter) => `$${attribute(parameter, "name")}`);
  return `declare function ${attribute(definition, "name")}(${parameters.join(", ")}) { ${bodyAsXQuery(definition)} };`;
}

function bodyAsXQuery(parent: Element): string {
  const parts: string[] = [];
  for (const child of parent.children) {
    const select = child.getAttribute("select");
    if (child.localName === "variable") parts.push(`let $${attribute(child, "name")} := ${initialValueOf(child)}`);
    else if (child.localName === "choose") parts.push(`return ${choiceAsXQuery(child)}`);
    else if (select !== null) parts.push(`return (${rounded(select)})`);
  }
  return parts.length === 1 ? (parts[0]?.replace(/^return /, "") ?? "") : parts.join(" ");
}

function initialValueOf(variable: Element): string {
  const select = variable.getAttribute("select") ?? variable.children[0]?.getAttribute("select");
  return select == null ? `'${variable.textContent}'` : `(${rounded(select)})`;
}

function choiceAsXQuery(choice: Element): string {
  const [when] = childrenOf(choice, "when");
  const [otherwise] = childrenOf(choice, "otherwise");
  if (when === undefined || otherwise === undefined) throw new Error("a choice without when or otherwise");
  return `if (${attribute(when, "test")}) then (${bodyAsXQuery(when)}) else (${bodyAsXQuery(otherwise)})`;
}

/** The expression with its arithmetic and its sums rounded by `e:n` and `e:sum`. */
function rounded(expression: string): string {
  const insertions: [offset: number, text: string][] = [];
  const original = parsed(expression);
  const visit = (element: Element, isRange: boolean) => {
    if (element.localName === "rangeSequenceExpr") isRange = true;
    if (OPERATIONS.has(element.localName) && !isRange) {
      const spans = [...element.getElementsByTagNameNS(SPANS, "stackTrace")];
      const offsets = (name: string) =>
        spans.map((span): number => JSON.parse(span.getAttributeNS(SPANS, name) ?? "{}").offset);
      insertions.push([Math.min(...offsets("start")), "e:n("], [Math.max(...offsets("end")), ")"]);
    }
    for (const child of element.children) visit(child, isRange);
  };
  visit(original, false);
  // If several operations begin or end at one place, each adds the same text there, so their order does not matter.
  const opening = insertions.filter(([, added]) => added !== ")");
  const closing = insertions.filter(([, added]) => added === ")");
  let result = "";
  for (let offset = 0; offset <= expression.length; offset++) {
    result += closing
      .filter(([place]) => place === offset)
      .map(([, added]) => added)
      .join("");
    result += opening
      .filter(([place]) => place === offset)
      .map(([, added]) => added)
      .join("");
    result += expression.charAt(offset);
  }
  result = result.replaceAll(/(?<![\w:-])sum\(/g, "e:sum(");
  if (shapeOf(parsed(result)) !== shapeOf(original)) throw new Error(`cannot round the numbers of ${expression}`);
  return result;
}

function parsed(expression: string): Element {
  return parseScript<Element>(expression, { debug: true }, new Document());
}

/** The tree of an expression without the roundings, for comparison with the original. */
function shapeOf(element: Element): string {
  if (element.namespaceURI === SPANS) return element.children.map(shapeOf).join("");
  const [name] =
    element.localName === "functionCallExpr" ? [...element.getElementsByTagNameNS(XQUERYX, "functionName")] : [];
  if (name?.getAttributeNS(XQUERYX, "prefix") === "e" && name.textContent === "n") {
    return [...element.children]
      .filter(({ localName }) => localName === "arguments")
      .flatMap((list) => list.children)
      .map(shapeOf)
      .join("");
  }
  if (element.localName === "functionName") return element.textContent ?? "";
  const inside = element.children.length > 0 ? element.children.map(shapeOf).join("") : element.textContent;
  return `<${element.localName} ${element.getAttributeNS(XQUERYX, "prefix") ?? ""}>${inside}`;
}

function childrenOf(element: Element, name: string): Element[] {
  return element.children.filter((child) => child.namespaceURI === XSL && child.localName === name);
}

function attribute(element: Element, name: string): string {
  const value = element.getAttribute(name);
  if (value === null) throw new Error(`${element.nodeName} has no ${name}`);
  return value;
}
