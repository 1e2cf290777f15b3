/**
 * API tokens: which settings make a set of them, and which candidates are in it.
 */
import { describe, expect, it } from "vitest";
import { SettingError } from "../../rules/integer-setting.ts";
import { judgeToken, parseTokens } from "../../rules/token.ts";

describe("a setting of tokens", () => {
  it.each([
    [undefined, []],
    ["", []],
    [" , ,\n", []],
    ["one", ["one"]],
    ["one,two", ["one", "two"]],
    ["one two", ["one", "two"]],
    ["  one ,\n two\t", ["one", "two"]],
    ["a+/=~!", ["a+/=~!"]],
  ])("of %j holds %j", (text, tokens) => {
    expect(parseTokens("SERVICE_API_TOKENS", text)).toEqual(tokens);
  });

  it.each(["é", "a,\u0000", "a\u007f", "\u200b"])(
    "of %j is refused by name, without the token in the message",
    (text) => {
      expect(() => parseTokens("SERVICE_API_TOKENS", `secret,${text}`)).toThrow(SettingError);
      expect(() => parseTokens("SERVICE_API_TOKENS", `secret,${text}`)).toThrow(/^SERVICE_API_TOKENS (?!.*secret)/);
    },
  );
});

describe("a token", () => {
  it("is accepted when it is one of the set", () => {
    for (const token of ["one", "two", "three"]) expect(judgeToken(token, ["one", "two", "three"])).toBeNull();
  });

  it("is accepted when the set holds it twice", () => {
    expect(judgeToken("one", ["one", "one"])).toBeNull();
  });

  it.each([
    ["missing", null],
    ["not given", undefined],
    ["empty", ""],
    ["another", "four"],
    ["the beginning of one", "on"],
    ["one and more", "onee"],
    ["one repeated", "oneone"],
    ["one in another case", "ONE"],
    ["one with a blank", "one "],
    ["two at once", "one,two"],
    ["of characters that agree in their low bits", "\u016fne"],
  ])("is refused when it is %s", (_name, candidate) => {
    const problem = judgeToken(candidate, ["one", "two"]);
    expect(problem).toMatchObject({ code: "forbidden", context: {} });
    expect(JSON.stringify(problem)).not.toMatch(/"one|two/);
  });

  it.each([null, "", "one"])("makes no open service of one without tokens: %j", (candidate) => {
    expect(judgeToken(candidate, [])).toMatchObject({ code: "service_unavailable" });
  });
});
