/** What docs/templates.md says that Typst loses silently: each row and what to write instead is rendered. */
import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { readDocumentFonts } from "../../../clients/document/fonts/document-fonts.ts";
import { describeDocumentFonts } from "../../../clients/document/fonts/font-findings.ts";
import { findUnusableFiles } from "../../../clients/document/unusable-files.ts";
import { GREY_JPEG } from "../../support/grey-jpeg.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { sharedService } from "../../support/service/test-service.ts";

const service = await sharedService();
const HALF_JPEG = GREY_JPEG.subarray(0, -2);

function rowsOf(page: string) {
  const [, table = ""] = /<!-- silent losses -->\n(.*?)<!-- end of silent losses -->/s.exec(page) ?? [];
  return [...table.matchAll(/^\| `(.*?)`(?:: [^|]+)? \| (.*?) \| (?:`(.*?)`)?.*? \| .*? \|$/gm)].map(
    ([, source = "", effect = "", instead]) => ({ source, effect, instead }),
  );
}

const rows = rowsOf(await readFile(new URL("../../../docs/templates.md", import.meta.url), "utf8"));

async function pdfOf(source: string): Promise<Buffer> {
  const files = { "half.jpg": { encoding: "base64", content: HALF_JPEG.toString("base64") } };
  const answer = await service.render({ source, files, output: { standards: ["a-2b"] } });
  expect(answer.status, source).toBe(200);
  return Buffer.from(await answer.bytes());
}

const textOf = async (source: string) => (await readPdf(await pdfOf(source))).pageTexts.join();

/** What shows the loss of each row, by its effect; with what is written instead it must not be there. */
const LOSSES: readonly (readonly [effect: RegExp, isLost: (source: string) => Promise<boolean>])[] = [
  [/^"Mon9-17"$/, async (source) => (await textOf(source)).includes("Mon9-17")],
  [/runs over the next column/, async (source) => (await textOf(source)).includes("Donaudampfschiff")],
  [/^"Zoo apfel Ärger"$/, async (source) => (await textOf(source)) === "Zoo apfel Ärger"],
  [/not a valid address/, async (source) => !/\/URI\(https:[!-~]*\)/.test((await pdfOf(source)).toString("latin1"))],
  [
    /^Grey/,
    async (source) => {
      expect(findUnusableFiles([{ key: "half.jpg", bytes: HALF_JPEG }])).toMatchObject([{ isCutOff: true }]);
      return (await pdfOf(source)).length > 0;
    },
  ],
  [
    /^"Α"/,
    async (source) => {
      const fonts = readDocumentFonts(await pdfOf(source));
      return fonts !== null && describeDocumentFonts(fonts, new Set()).some((said) => said.includes("U+F133"));
    },
  ],
];

it.each(rows)("docs/templates.md is right about $source", async ({ source, effect, instead }) => {
  const [isLost] = LOSSES.flatMap(([pattern, test]) => (pattern.test(effect) ? [test] : []));
  expect(await isLost?.(source)).toBe(true);
  if (instead !== undefined) expect(await isLost?.(instead)).toBe(false);
});

it("docs/templates.md has a row for each loss", () => {
  expect(rows).toHaveLength(LOSSES.length);
  expect(rows.filter(({ instead }) => instead !== undefined)).toHaveLength(3);
});
