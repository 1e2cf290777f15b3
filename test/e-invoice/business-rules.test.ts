import { parseXmlDocument } from "slimdom";
import { describe, expect, it } from "vitest";
import { ruleFindings } from "../../e-invoice/business-rules.ts";
import type { RuleSet } from "../../e-invoice/rule-set.ts";

const document = parseXmlDocument("<sum><part>0.1</part><part>0.2</part><total>0.3</total></sum>");

function rulesOf(test: string, more: Partial<RuleSet> = {}): RuleSet {
  return {
    namespaces: {},
    variables: [],
    patterns: [[{ context: "/sum", tests: [{ id: "R-1", test, message: ["in ", "name(.)", ", ", "total", ""] }] }]],
    ...more,
  };
}

describe("a rule", () => {
  it("calculates in decimals", () => {
    expect(
      ruleFindings(document, rulesOf("e:n(xs:decimal(part[1]) + xs:decimal(part[2])) = xs:decimal(total)")),
    ).toEqual([]);
    expect(ruleFindings(document, rulesOf("e:sum(part/xs:decimal(.)) = xs:decimal(total)"))).toEqual([]);
    // Without the rounding this would be wrong: fontoxpath itself calculates in binary numbers.
    expect(
      ruleFindings(document, rulesOf("xs:decimal(part[1]) + xs:decimal(part[2]) = xs:decimal(total)")),
    ).toHaveLength(1);
  });

  it("that is broken is reported with its place and its message", () => {
    expect(ruleFindings(document, rulesOf("total > 1"))).toEqual([
      { rule: "R-1", severity: "error", place: "/sum", message: "in sum, 0.3" },
    ]);
  });

  it("judges a node only if its context is the first that selects it", () => {
    const tests = (id: string) => [{ id, test: "false()", message: "broken" }];
    const patterns = [
      [
        { context: "//part[2]", tests: tests("second") },
        { context: "//part", tests: tests("any") },
      ],
    ];
    expect(
      ruleFindings(document, { namespaces: {}, variables: [], patterns }).map(({ rule, place }) => [rule, place]),
    ).toEqual([
      ["second", "/sum/part[2]"],
      ["any", "/sum/part[1]"],
    ]);
  });

  it("can use code lists and the check digits of account numbers", () => {
    expect(ruleFindings(document, rulesOf("e:code('1', total)", { codes: { 1: ["0.3"] } }))).toEqual([]);
    expect(ruleFindings(document, rulesOf("e:code('1', total)", { codes: { 1: ["0.4"] } }))).toHaveLength(1);
    expect(ruleFindings(document, rulesOf("e:mod97('370400440532013000131488') = 1"))).toHaveLength(1);
    expect(ruleFindings(document, rulesOf("e:mod97('370400440532013000131489') = 1"))).toEqual([]);
  });
});
