/** API tokens: which settings are valid, and which candidates match. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { authenticateCaller, parseNamedTokens, parseTokens, validateToken } from "../../protocol/authentication.ts";
import { SettingError } from "../../rules/settings.ts";

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
    "of %j is rejected by name, without the token in the message",
    (text) => {
      expect(() => parseTokens("SERVICE_API_TOKENS", `secret,${text}`)).toThrow(SettingError);
      expect(() => parseTokens("SERVICE_API_TOKENS", `secret,${text}`)).toThrow(/^SERVICE_API_TOKENS (?!.*secret)/);
    },
  );
});

describe("a token", () => {
  it("is accepted when it is one of the set", () => {
    for (const token of ["one", "two", "three"])
      expect(validateToken(token, ["one", "two", "three"], "X-Token")).toBeNull();
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
    ["one with a space", "one "],
    ["two at once", "one,two"],
    ["of characters that agree in their low bits", "\u016fne"],
  ])("is rejected when it is %s", (_name, candidate) => {
    const problem = validateToken(candidate, ["one", "two"], "X-Token");
    expect(problem).toMatchObject({ code: "forbidden", context: {} });
    expect(JSON.stringify(problem)).not.toMatch(/"one|two/);
  });

  it("takes no time for its length when it is longer than every token: that many are refused before anybody is known", () => {
    const tokens = Array.from({ length: 200 }, (_, index) => String(index).padStart(32, "t"));
    const read = vi.spyOn(String.prototype, "charCodeAt");
    onTestFinished(() => read.mockRestore());
    expect(validateToken("t".repeat(33), tokens, "X-Token")).not.toBeNull();
    expect(read).not.toHaveBeenCalled();
    expect(validateToken("t".repeat(32), tokens, "X-Token")).not.toBeNull();
    expect(read).toHaveBeenCalled();
  });

  it.each([null, "", "one"])("makes no open service of one without tokens: %j", (candidate) => {
    expect(validateToken(candidate, [], "X-Token")).toMatchObject({ code: "service_unavailable" });
  });
});

describe("a setting of named tokens", () => {
  const parse = (text: string | undefined) => parseNamedTokens("SERVICE_API_TOKENS", text);

  it.each([
    [undefined, []],
    ["one", [["caller-1", "one"]]],
    [
      "one, billing:two three",
      [
        ["caller-1", "one"],
        ["billing", "two"],
        ["caller-3", "three"],
      ],
    ],
    [
      "billing:old,billing:new",
      [
        ["billing", "old"],
        ["billing", "new"],
      ],
    ],
    ["a:b:c", [["a", "b:c"]]],
    [`${"n".repeat(64)}:t`, [["n".repeat(64), "t"]]],
    ["A.b_c-9:t", [["A.b_c-9", "t"]]],
  ])("of %j holds %j", (text, tokens) => {
    expect(parse(text).map(({ name, token }) => [name, token])).toEqual(tokens);
  });

  it.each([
    ":secret",
    "name:",
    `${"n".repeat(65)}:secret`,
    "-a:secret",
    ".a:secret",
    "a/b:secret",
    "a=:secret",
    "edge-probe:secret",
  ])("of %j is rejected by name and place, without the token in the message", (text) => {
    expect(() => parse(`first,${text}`)).toThrow(SettingError);
    expect(() => parse(`first,${text}`)).toThrow(/^SERVICE_API_TOKENS (?!.*secret).*entry 2/);
  });
});

describe("the caller of a request", () => {
  const tokens = parseNamedTokens("SERVICE_API_TOKENS", "one, billing:two, billing:three, two, one");

  it.each([
    ["one", "caller-1"],
    ["two", "billing"],
    ["three", "billing"],
  ])("with the token %j is %j, by the first entry that has it", (token, caller) => {
    expect(authenticateCaller(token, tokens)).toEqual({ ok: true, caller });
  });

  it.each([null, undefined, "", "billing", "billing:two", "twoo", "four"])("is rejected with %j", (token) => {
    expect(authenticateCaller(token, tokens)).toMatchObject({ ok: false, problem: { code: "forbidden", context: {} } });
  });
});
