/** Which documents are problems of the service: TypeScript promises their types, so each member is looked at. */
import { expect, it } from "vitest";
import { asServiceProblem } from "../../../clients/typescript/service-problem.ts";
import { type Problem, problem, problemDocument } from "../../../rules/problem.ts";
import { INSTANCE } from "../../support/clients/scripted-service.ts";

const INVALID = problem("invalid_request", "No.", {});
const FULL = problem("render_queue_full", "Full.", { retry_after: 1 });
const LONG = problem("string_too_large", "Long.", { path: ["a", 1], subject: "key", size: 2, limit: 1 });

it.each<[what: string, base: Problem, context: object | undefined]>([
  ["errors that are a text", INVALID, { errors: "many" }],
  ["errors that are null", INVALID, { errors: [null] }],
  ["errors without places", INVALID, { errors: [{ msg: "No.", type: "missing" }] }],
  ["an error at a place of places", INVALID, { errors: [{ loc: [["source"]], msg: "No.", type: "missing" }] }],
  ["a rule that is a list", INVALID, { rule: ["pages"] }],
  ["a path that is a text", LONG, { path: "a.b", subject: "key", size: 2, limit: 1 }],
  ["no path", LONG, { subject: "key", size: 2, limit: 1 }],
  ["no wait", FULL, {}],
])("is no problem with %s in its context", (_what, base, context) => {
  const document = problemDocument(base, INSTANCE);
  expect(asServiceProblem(document)).toMatchObject({ code: base.code, requestId: "id" });
  expect(asServiceProblem({ ...document, context })).toBeNull();
});
