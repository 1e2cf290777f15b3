/** "What a standard refuses" in docs/templates.md: each row is rendered under every standard, what it takes in one document. */
import { readFile } from "node:fs/promises";
import { PNG } from "pngjs";
import { beforeAll, describe, expect, it } from "vitest";
import { PDF_STANDARDS } from "../../../rules/pdf-standards.ts";
import { liberation, nameTable, withStyle, withTables } from "../../support/fonts.ts";
import { sharedService } from "../../support/service/test-service.ts";

const service = await sharedService();

/** What the words of the second column mean. */
const GROUPS: Readonly<Record<string, (standard: string) => boolean>> = {
  "PDF/A": (standard) => standard.startsWith("a-"),
  "PDF/A-1": (standard) => standard.startsWith("a-1"),
  "PDF/A-2": (standard) => standard.startsWith("a-2"),
  "PDF/A-3": (standard) => standard.startsWith("a-3"),
  "PDF/A-4": (standard) => standard.startsWith("a-4"),
};

const ROW = /^\| `(?<source>.+?)`(?:: [^|]+)? \| (?<refused>[^|]+) \| (?:`(?<instead>[#=$].+?)`)?[^|]*\|$/;

interface Refusal {
  readonly source: string;
  readonly refused: readonly string[];
  /** What every standard takes; undefined if the row only has words. */
  readonly instead: string | undefined;
}

function refusalsOf(page: string): Refusal[] {
  const [, table = ""] = /<!-- refusals -->\n(.*?)<!-- end of refusals -->/s.exec(page) ?? [];
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => {
    const { source, refused = "", instead } = ROW.exec(row)?.groups ?? {};
    if (source === undefined) throw new Error(`not a row of a refusal: ${row}`);
    const terms = refused.split(", ").map((term) => term.replaceAll("`", ""));
    const isMeant = (standard: string) => terms.some((term) => GROUPS[term]?.(standard) ?? term === standard);
    return { source, refused: PDF_STANDARDS.filter(isMeant), instead };
  });
}

const SVG = (opacity: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9" fill="red" opacity="${opacity}"/></svg>`;
const CMYK_JPEG =
  "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAQCwwODAoQDg0OEhEQExgoGhgWFhgxIyUdKDozPTw5Mzg3QEhcTkBEV0U3OFBtUVdfYmdoZz5NcXlwZHhcZWdj/8AAFAgACAAIBEMRAE0RAFkRAEsRAP/EABYAAQEBAAAAAAAAAAAAAAAAAAYFB//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAOBEMATQBZAEsAAD8A0BYGjt//2Q==";
const GIF = "R0lGODdhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=";

/** A white pixel. @param colorType 2 has no alpha channel, 6 has one, here of full opacity */
function png(colorType: 2 | 6): string {
  const image = new PNG({ width: 1, height: 1 });
  image.data.fill(255);
  return PNG.sync.write(image, { colorType }).toString("base64");
}

const base64 = (content: string) => ({ encoding: "base64", content });
const files: Record<string, { encoding: string; content: string }> = {
  "alpha.png": base64(png(6)),
  "opaque.png": base64(png(2)),
  "picture.gif": base64(GIF),
  "cmyk.jpg": base64(CMYK_JPEG),
  "opacity.svg": { encoding: "text", content: SVG("0.5") },
  "opaque.svg": { encoding: "text", content: SVG("1") },
};

beforeAll(async () => {
  const page = await service.render({ source: "A page" });
  const name = nameTable("Restricted");
  files["restricted.ttf"] = base64(
    withStyle(withTables(await liberation("Regular"), { name }), { type: 2 }).toString("base64"),
  );
  files["page.pdf"] = base64(Buffer.from(await page.bytes()).toString("base64"));
});

/** Whether it is rendered; any other failure than a 422 is one of the test. */
async function isTaken(source: string, output: object): Promise<boolean> {
  const titled = source.includes("#set document(") ? source : `#set document(title: "T")\n${source}`;
  const answer = await service.render({ source: titled, files, output });
  const body = await answer.bytes();
  if (answer.status === 200) return true;
  expect([answer.status, Buffer.from(body).toString("utf8")]).toEqual([
    422,
    expect.stringContaining("template_compile_failed"),
  ]);
  return false;
}

const refusals = refusalsOf(await readFile(new URL("../../../docs/templates.md", import.meta.url), "utf8"));

const alternatives = refusals.flatMap(({ instead }) => (instead === undefined ? [] : [instead]));

/** Those that are refused, of sources that should all be taken. */
async function refusedOf(sources: readonly string[], output: object): Promise<string[]> {
  // Two attached files of one document have two names.
  const named = sources.map((source, index) => source.replace("a.csv", `${index}.csv`));
  if (await isTaken(named.join("\n\n"), output)) return [];
  const refused: string[] = [];
  for (const source of sources) if (!(await isTaken(source, output))) refused.push(source);
  return refused.length > 0 ? refused : ["all in one document"];
}

describe("docs/templates.md", () => {
  it.each(refusals)("is right about who refuses $source", async ({ source, refused }) => {
    expect(refused).not.toEqual([]);
    for (const standard of refused)
      expect([standard, await isTaken(source, { standards: [standard] })]).toEqual([standard, false]);
  });

  it("names nothing that is refused without a standard", async () => {
    expect(
      await refusedOf(
        refusals.map(({ source }) => source),
        {},
      ),
    ).toEqual([]);
  });

  it.each(PDF_STANDARDS)("names what %s takes, and recommends what it takes instead", async (standard) => {
    const taken = refusals.filter(({ refused }) => !refused.includes(standard)).map(({ source }) => source);
    expect(await refusedOf([...taken, ...alternatives], { standards: [standard] })).toEqual([]);
  });

  it("has rows and alternatives that this test finds", () => {
    expect(refusals.length).toBeGreaterThan(20);
    expect(alternatives.length).toBeGreaterThan(8);
  });

  it("is right about PDF images and versions", async () => {
    const source = '#image("page.pdf")';
    expect(await isTaken(source, { version: "1.7" })).toBe(true);
    expect(await isTaken(source, { version: "1.6" })).toBe(false);
  });
});
