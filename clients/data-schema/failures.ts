/** What the validator found: each failed keyword with its failed subschemas, and their failed keywords in turn. */
import type { EvaluationPlugin, ValidationContext } from "@hyperjump/json-schema/experimental";
import type { JsonNode } from "@hyperjump/json-schema/instance/experimental";

export interface Failure {
  readonly keyword: string;
  /** The keyword's value as the validator has compiled it. */
  readonly value: unknown;
  /** The place of the keyword: a URI whose fragment is a JSON Pointer into the schema. */
  readonly location: string;
  readonly instance: JsonNode;
  readonly branches: readonly Branch[];
}

export interface Branch {
  readonly instance: JsonNode;
  /** Empty if the schema is `false`. */
  readonly failures: readonly Failure[];
}

interface Context extends ValidationContext {
  /** The failures of the schema that is being evaluated. A keyword evaluates its subschemas one after the other. */
  failures?: Failure[];
  branches?: Branch[];
}

export class FailureCollector implements EvaluationPlugin<Context> {
  readonly id = "failures";
  failures: readonly Failure[] = [];

  beforeSchema(_url: string, _instance: JsonNode, context: Context): void {
    context.failures = [];
  }

  afterKeyword(
    [id, location, value]: [string, string, unknown],
    instance: JsonNode,
    context: Context,
    isValid: boolean,
    schemaContext: Context,
  ): void {
    if (isValid) return;
    const keyword = id.slice(id.lastIndexOf("/") + 1);
    schemaContext.failures ??= [];
    schemaContext.failures.push({ keyword, value, location, instance, branches: context.branches ?? [] });
  }

  afterSchema(_url: string, instance: JsonNode, context: Context, isValid: boolean): void {
    const failures = context.failures ?? [];
    this.failures = failures;
    if (isValid) return;
    context.branches ??= [];
    context.branches.push({ instance, failures });
  }
}
