/** Packages as imports name them. */
import { describe, expect, it } from "vitest";
import {
  comparePackages,
  compareVersions,
  findQuotedSpecs,
  formatPackageSpec,
  parsePackageSpec,
} from "../../rules/package-spec.ts";

describe("the name of a package", () => {
  it.each([
    "@preview/cetz:0.3.4",
    "@local/own_letter:10.0.0",
    "@preview/a-b:0.0.0",
    `@p/${"n".repeat(64)}:999999999.0.0`,
  ])("is read and written: %s", (text) => {
    const spec = parsePackageSpec(text);
    expect(spec && formatPackageSpec(spec)).toBe(text);
  });

  it.each([
    ..."cetz preview/cetz:0.3.4 @preview/cetz @preview/cetz:0.3 @preview/cetz:0.3.4.5 @preview/cetz:00.3.4".split(" "),
    ..."@preview/cetz:1000000000.0.0 @preview/../cetz:0.3.4 @../cetz:0.3.4 @preview/.cetz:0.3.4".split(" "),
    ...["@preview/-cetz:0.3.4", "@preview/cetz:0.3.4\n", `@preview/${"n".repeat(65)}:0.0.0`],
  ])("is not: %j", (text) => {
    expect(parsePackageSpec(text)).toBeNull();
  });

  it("is found in quotation marks", () => {
    const found = findQuotedSpecs('"@preview/a:1.0.0" @preview/b:1.0.0 "@preview/c:1.0" ("@x/d:1.2.3")');
    expect(found.map(formatPackageSpec)).toEqual(["@preview/a:1.0.0", "@x/d:1.2.3"]);
  });
});

it("versions are compared as numbers, and packages are sorted by them", () => {
  expect(compareVersions("0.10.0", "0.9.9")).toBeGreaterThan(0);
  expect(compareVersions("0.15", "0.15.1")).toBeLessThan(0);
  expect(compareVersions("1", "1.0.0")).toBe(0);
  const texts = ["@preview/b:1.0.0", "@preview/a:0.10.0", "@local/c:1.0.0", "@preview/a:0.9.0"];
  const sorted = texts.flatMap((text) => parsePackageSpec(text) ?? []).sort(comparePackages);
  expect(sorted.map(formatPackageSpec)).toEqual([texts[2], texts[3], texts[1], texts[0]]);
});
