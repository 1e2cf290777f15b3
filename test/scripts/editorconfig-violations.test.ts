import { describe, expect, it } from "vitest";
import { editorconfigViolations } from "../../scripts/editorconfig-violations.ts";

const PROPERTIES = {
  charset: "utf-8",
  end_of_line: "lf",
  insert_final_newline: true,
  trim_trailing_whitespace: true,
  indent_style: "space",
  indent_size: 2,
};

function violations(text: string | Uint8Array, properties: object = PROPERTIES): string[] {
  return editorconfigViolations(typeof text === "string" ? new TextEncoder().encode(text) : text, { ...properties });
}

describe("a file against .editorconfig", () => {
  it("breaks nothing where it is as it should be", () => {
    expect(violations("one\n  two ä\n\n * three\n")).toEqual([]);
  });

  it.each([
    ["a space at the end of a line", "one\ntwo \n", "trim_trailing_whitespace: line 2"],
    ["a tab at the end of a line", "one\t\n", "trim_trailing_whitespace: line 1"],
    ["no line feed at the end", "one\ntwo", "insert_final_newline: line 2"],
    ["a carriage return", "one\ntwo\r\n", "end_of_line: line 2"],
    ["an indent by a tab", "one\n\ttwo\n", "indent_style: line 2"],
    ["an indent by spaces and a tab", "one\n  \ttwo\n", "indent_style: line 2"],
    ["a byte order mark", "\ufeffone\n", "charset: line 1"],
    ["bytes that are not UTF-8", Uint8Array.of(0x61, 0xff, 0x0a), "charset: not UTF-8"],
  ])("breaks one property by %s", (_what, text, violation) => {
    expect(violations(text)).toEqual([violation]);
  });

  it("is not asked for what the file's properties do not say", () => {
    expect(violations("\tone \r\ntwo", { indent_style: "tab", end_of_line: "crlf" })).toEqual([]);
  });

  it("is an error of .editorconfig where a property is checked by nobody", () => {
    expect(() => violations("one\n", { max_line_length: 80 })).toThrow("max_line_length, which nothing checks");
  });
});
