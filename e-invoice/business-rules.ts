/**
 * Checks an invoice against compiled Schematron rules (`rules/`), whose expressions fontoxpath evaluates.
 *
 * The numbers of fontoxpath are binary: 0.1 + 0.2 is not 0.3. So the compiled expressions call the functions here, which round
 * each result of arithmetic to 15 digits. That is exact for amounts below ten billion with four decimals.
 */
/// <reference path="./fontoxpath.d.ts" />
import {
  createTypedValueFactory,
  domFacade,
  evaluateXPath,
  ReturnType,
  registerCustomXPathFunction,
  registerXQueryModule,
} from "fontoxpath/dist/fontoxpath.esm.js";
import type { Document, Node } from "slimdom";
import { type Finding, MAX_FINDINGS, shortened } from "./finding.ts";
import { EXPRESSION_FUNCTIONS, type Rule, type RuleSet, type RuleTest } from "./rule-set.ts";

const SCHEMA_TYPES = "http://www.w3.org/2001/XMLSchema";
/** The decimal digits that a 64-bit binary number always keeps. */
const EXACT_DIGITS = 15;

/** Makes a sequence of a JavaScript array, which would otherwise become an XPath array: a single value. */
const sequence = createTypedValueFactory("item()*");

const exact = (value: number) => Number(value.toPrecision(EXACT_DIGITS));

registerCustomXPathFunction(
  { namespaceURI: EXPRESSION_FUNCTIONS, localName: "n" },
  ["xs:double?"],
  "xs:double?",
  (_, value) => (value === null ? null : exact(value)),
);
registerCustomXPathFunction(
  { namespaceURI: EXPRESSION_FUNCTIONS, localName: "sum" },
  ["xs:double*"],
  "xs:double",
  (_, values: number[]) => values.reduce((total, value) => exact(total + value), 0),
);
registerCustomXPathFunction(
  { namespaceURI: EXPRESSION_FUNCTIONS, localName: "code" },
  ["xs:string", "xs:string?"],
  "xs:boolean",
  ({ currentContext }, list: string, code: string | null) =>
    code !== null && (currentContext.get(list)?.has(code) ?? false),
);

registerCustomXPathFunction(
  { namespaceURI: EXPRESSION_FUNCTIONS, localName: "mod97" },
  ["xs:string"],
  "xs:integer",
  (_, digits: string) => Number(/^\d{1,80}$/.test(digits) ? BigInt(digits) % 97n : 0n),
);

const registeredFunctions = new Set<string>();

/** @returns one finding for each rule that a node of the invoice breaks */
export function ruleFindings(document: Document, rules: RuleSet): Finding[] {
  if (rules.functions !== undefined && !registeredFunctions.has(rules.functions)) {
    registerXQueryModule(rules.functions);
    registeredFunctions.add(rules.functions);
  }
  const evaluator = new Evaluator(rules);
  const variables: Variables = {};
  for (const [name = "", expression = ""] of rules.variables)
    variables[name] = evaluator.sequence(expression, document, variables);
  const findings: Finding[] = [];
  for (const pattern of rules.patterns) {
    const judged = new Set<Node>();
    for (const rule of pattern) {
      for (const node of evaluator.nodes(rule.context, document, variables)) {
        if (judged.has(node)) continue;
        judged.add(node);
        findings.push(...brokenAt(node, rule, variables, evaluator));
        if (findings.length >= MAX_FINDINGS) return findings.slice(0, MAX_FINDINGS);
      }
    }
  }
  return findings;
}

function brokenAt(node: Node, rule: Rule, outer: Variables, evaluator: Evaluator): Finding[] {
  const variables = { ...outer };
  for (const [name = "", expression = ""] of rule.variables ?? []) {
    variables[name] = evaluator.sequence(expression, node, variables);
  }
  return rule.tests
    .filter((test) => evaluator.holds(test, node, variables) === (test.report ?? false))
    .map((test) => ({
      rule: test.id,
      severity: test.warning ? "warning" : "error",
      place: placeOf(node),
      message: shortened(messageOf(test, node, variables, evaluator)),
    }));
}

function messageOf({ message }: RuleTest, node: Node, variables: Variables, evaluator: Evaluator): string {
  if (typeof message === "string") return message;
  return message
    .map((part, index) => (index % 2 === 0 ? part : evaluator.text(part, node, variables)))
    .join("")
    .trim();
}

/** A path such as `/rsm:CrossIndustryInvoice/…/ram:LineTotalAmount`, with numbers if an element has siblings of the same name. */
function placeOf(node: Node): string {
  const steps: string[] = [];
  for (let current: Node | null = node; current !== null && current.parentNode !== null; current = current.parentNode) {
    steps.unshift(stepTo(current));
  }
  return `/${steps.join("/")}`;
}

function stepTo(node: Node): string {
  const siblings = node.parentNode?.childNodes.filter(({ nodeName }) => nodeName === node.nodeName) ?? [];
  return siblings.length < 2 ? node.nodeName : `${node.nodeName}[${siblings.indexOf(node) + 1}]`;
}

type Variables = Record<string, unknown>;

/** Evaluates the expressions of one rule set. */
class Evaluator {
  readonly #options: object;

  constructor({ namespaces, functions, codes = {} }: RuleSet) {
    const prefixes: Record<string, string> = { ...namespaces, xs: SCHEMA_TYPES, e: EXPRESSION_FUNCTIONS };
    this.#options = {
      namespaceResolver: (prefix: string) => prefixes[prefix] ?? null,
      currentContext: new Map(Object.entries(codes).map(([list, values]) => [list, new Set(values)])),
      ...(functions !== undefined && { moduleImports: { u: namespaces.u } }),
    };
  }

  sequence(expression: string, node: Node, variables: Variables): unknown {
    return sequence(evaluateXPath(expression, node, null, variables, ReturnType.ALL_RESULTS, this.#options), domFacade);
  }

  nodes(expression: string, document: Document, variables: Variables): Node[] {
    return evaluateXPath(expression, document, null, variables, ReturnType.NODES, this.#options) as Node[];
  }

  text(expression: string, node: Node, variables: Variables): string {
    return evaluateXPath(`string(${expression})`, node, null, variables, ReturnType.STRING, this.#options);
  }

  holds({ test }: RuleTest, node: Node, variables: Variables): boolean {
    return evaluateXPath(`boolean(${test})`, node, null, variables, ReturnType.BOOLEAN, this.#options);
  }
}
