/** What a draft is called: in the list of drafts, and as a file. */
import { describe, expect, it } from "vitest";
import { draftFileStem, draftTitle } from "../../../../clients/playground/drafts/draft.ts";

const draft = (source: string) => ({ source, data: "", files: [], output: { format: "pdf" as const, members: {} } });

describe("the name of a draft", () => {
  it.each([
    ["= Price list 2027", "Price-list-2027"],
    ["= Title /* unclosed … @nobody", "Title"],
    ["// = Old\n/* = Older\n= Oldest */\n= New // soon", "New"],
    ["/* = Only a comment */", "draft"],
  ])("is that of its first heading as it is shown: %j", (source, name) => {
    expect(draftFileStem(draft(source))).toBe(name);
  });

  it("is the first line that is shown, where there is no heading", () => {
    expect(draftTitle(draft("// draft\n/* more */\nDear Ada,"))).toBe("Dear Ada,");
    expect(draftTitle(draft("= See https://a.example/b // there"))).toBe("See https://a.example/b");
  });
});
