/** A PDF with standards is answered 200 only if it keeps them: the file is judged when Typst has finished it. */
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { BrokenRuleId } from "../../../typst/finished-pdf/broken-rule.ts";
import { makeFakeTypst } from "../../support/backend/fake-typst.ts";
import { startSharedBackend, startTemporaryBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { tableOfPage } from "../../support/readers/page-table.ts";

const backend = await startSharedBackend();

const TITLE = '#set document(title: "T")\n';
const TALL = `${TITLE}#set page(height: auto, width: 80mm)\n#table(columns: 2, ..range(1800).map(str))`;
const ATTACHMENT = `${TITLE}#pdf.attach("a.csv", bytes("x;y"), description: "d", relationship: "data")\nx`;
const ENTITLED = '#set document(title: data.at("title", default: "T"))\nx';

const PAGE =
  "The PDF would not be what its standard requires: PDF/A-2 and PDF/A-3 allow pages of 3 to 14,400 pt in each direction, and one is larger or smaller.";
const MEDIA_TYPE =
  "The PDF would not be what its standard requires: PDF/A-4f and PDF/A-4e require a media type of each attached file, and one has none.";
const CHARACTER =
  "The PDF would not be what its standard requires: the title has a character that its metadata cannot hold, such as a control character.";
const COPIES =
  "The PDF would not be what its standard requires: the title has a carriage return, which only one of the two copies in a PDF/A-1 can hold.";

const titled = (title: string) => ({ source: ENTITLED, data: { title } });

describe("a PDF that breaks its standard is answered 422, and the log says what it breaks", () => {
  it.each([
    ["a page over 14,400 pt", { source: TALL }, "a-2b", PAGE, "page_size"],
    ["an attached file without a media type", { source: ATTACHMENT }, "a-4f", MEDIA_TYPE, "attachment_media_type"],
    ["a title with a vertical tab", titled("Report\u000bQ3"), "a-2b", CHARACTER, "metadata_characters"],
    ["a title with a line end CR LF", titled("Report\r\nQ3"), "a-1b", COPIES, "metadata_copies"],
  ])("%s", async (_what, body, standard, detail, pdfCheck) => {
    const sent = { ...body, output: { format: "pdf", standards: [standard] } };
    const problem = await expectProblem(await backend.render(sent), "template_compile_failed");
    expect(problem).toMatchObject({ detail, context: {} });
    await expect.poll(() => backend.logged.at(-1)).toMatchObject({ outcome: "template_compile_failed", pdfCheck });
    expect(JSON.stringify(backend.logged)).not.toMatch(/Report|Q3|a\.csv/);
    await expect.poll(() => backend.projects()).toEqual([]);
  });
});

describe("what a standard does not forbid is rendered", () => {
  it.each([
    ["a page over 14,400 pt", ["a-4"], { source: TALL }],
    ["a media type", ["a-4f"], { source: ATTACHMENT.replace(")\nx", ', mime-type: "text/csv")\nx') }],
    ["no media type", [], { source: ATTACHMENT }],
    ["a line end LF in the title", ["a-1b"], titled("Report\nQ3")],
  ])("%s, under %j", async (_what, standards, body) => {
    const pdf = await backend.renderFile({ ...body, output: { format: "pdf", standards } });
    expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
    await expect.poll(() => backend.logged.at(-1)).toMatchObject({ outcome: "ok" });
    expect(backend.logged.at(-1)).not.toHaveProperty("pdfCheck");
  });
});

it("docs/api.md lists what is checked, by the names in the log", async () => {
  const ids = {
    page_size: true,
    attachment_media_type: true,
    attachment_name: true,
    pdf_version: true,
    metadata_characters: true,
    metadata_copies: true,
    metadata_date: true,
    language_tag: true,
    string_length: true,
  } satisfies Record<BrokenRuleId, true>;
  const listed = (await tableOfPage("api.md", "#### Checks of the finished PDF")).map(([id]) => id);
  expect(listed).toEqual(Object.keys(ids));
});

it("a large file is judged like a small one, and a selection of no page is told before", async () => {
  const attached = `\n#pdf.attach("b.txt", read("b.txt", encoding: none), description: "d", mime-type: "text/plain")`;
  // More than is kept in memory.
  const files = { "b.txt": { encoding: "base64", content: randomBytes(1024 ** 2).toString("base64") } };
  const source = TALL + attached;
  const body = { source, files, output: { format: "pdf", standards: ["a-3b"] } };
  const { detail } = await expectProblem(await backend.render(body), "template_compile_failed");
  expect(detail).toBe(PAGE);
  const selection = { source: TALL, output: { format: "pdf", standards: ["a-2b"], pages: "9" } };
  const none = await expectProblem(await backend.render(selection), "template_compile_failed");
  expect(none.detail).toBe('The document has none of the pages that "pages" selects.');
});

it("a file that is not of Typst's form is passed on, and the log says so", async () => {
  const typst = await makeFakeTypst("cat > /dev/null; echo '%PDF-2.9 of another form'");
  const other = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path });
  await other.renderFile({ source: "x", output: { format: "pdf", standards: ["a-2b"] } });
  await expect.poll(() => other.logged.at(-1)).toMatchObject({ outcome: "ok", pdfCheck: "unread" });
});
