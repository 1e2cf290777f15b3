/** The form of the compiled Schematron rules in `rules/`, which `npm run e-invoice-rules` writes. */

/** The namespace of the functions that compiled expressions call under the prefix `e`. */
export const EXPRESSION_FUNCTIONS = "https://schemas.invalid/functions";

export interface RuleSet {
  /** Prefix -> namespace, of all expressions. */
  readonly namespaces: Readonly<Record<string, string>>;
  /** Name -> expression, evaluated once at the document. Each may use the variables before it. */
  readonly variables: readonly (readonly string[])[];
  /** A module of XQuery with the functions of the rules, under the prefix `u`. */
  readonly functions?: string;
  /** Number of a code list -> its codes. */
  readonly codes?: Readonly<Record<string, readonly string[]>>;
  /** In each pattern, a node is judged by the first rule whose context selects it. */
  readonly patterns: readonly (readonly Rule[])[];
}

export interface Rule {
  /** A path from the root of the document. */
  readonly context: string;
  /** Name -> expression, evaluated at the node. */
  readonly variables?: readonly (readonly string[])[];
  readonly tests: readonly RuleTest[];
}

export interface RuleTest {
  readonly id: string;
  /** Must hold, or must not if `report` is set. */
  readonly test: string;
  readonly report?: boolean;
  readonly warning?: boolean;
  /** Text; or texts and expressions in turn, with the expressions at the odd indexes. */
  readonly message: string | readonly string[];
}
