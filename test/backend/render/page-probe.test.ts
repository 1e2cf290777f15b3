/** When a document is compiled a second time, and what that says. */
import { tmpdir } from "node:os";
import * as v from "valibot";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import {
  CLIENT_GONE,
  failCompile,
  type RenderFailure,
  SELECTION_EMPTY,
  SEVERAL_PAGES,
} from "../../../backend/render/outcome.ts";
import { explainFailure, failureOfSelection } from "../../../backend/render/page-probe.ts";
import { Spool } from "../../../backend/render/spool.ts";
import type { TypstEnd, TypstReport } from "../../../backend/typst/process.ts";
import { OUTPUT_SCHEMAS, type Output } from "../../../rules/output-options.ts";

const FAILURE = failCompile("Typst refused it.");

const resultOf = (end: TypstEnd, outputBytes = 0): TypstReport => ({
  end,
  outputTaken: "kept",
  outputBytes,
  ranOutOfMemory: false,
  peakMemoryBytes: null,
});

const IMAGE: Output = v.parse(OUTPUT_SCHEMAS.png, { format: "png" });
const REFUSED = resultOf({ kind: "exited", exitCode: 1 });
const PRINTED = resultOf({ kind: "exited", exitCode: 0 }, 100);
const NOTHING = resultOf({ kind: "exited", exitCode: 0 });
const LEFT = resultOf({ kind: "stopped", reason: "client-gone" });

describe("a single image that Typst refuses", () => {
  const explain = (wanted: Output, result: TypstReport, secondPage: TypstReport) => {
    const printPage = vi.fn(async () => secondPage);
    return { printPage, explained: explainFailure(FAILURE, result, wanted, printPage) };
  };

  it.each([
    ["has several pages where the second one can be printed", PRINTED, SEVERAL_PAGES],
    ["has failed for itself where that is refused", REFUSED, FAILURE],
    ["has failed for itself where that is not there", NOTHING, FAILURE],
    ["is that the client has left, if it has by then", LEFT, CLIENT_GONE],
  ])("%s", async (_what, secondPage, expected) => {
    const { explained, printPage } = explain(IMAGE, REFUSED, secondPage);
    expect(await explained).toBe(expected);
    expect(printPage.mock.calls).toEqual([[2]]);
  });

  it.each([
    ["a page was chosen", { ...IMAGE, page: 2 }, REFUSED],
    ["an archive was wanted", { ...IMAGE, archive: "zip" }, REFUSED],
    ["Typst panicked", IMAGE, resultOf({ kind: "exited", exitCode: 101 })],
    ["Typst was killed", IMAGE, resultOf({ kind: "signalled", signal: "SIGKILL" })],
    ["there is output", IMAGE, resultOf({ kind: "exited", exitCode: 1 }, 1)],
  ] as [string, Output, TypstReport][])("is not compiled again where %s", async (_why, wanted, result) => {
    const { explained, printPage } = explain(wanted, result, PRINTED);
    expect(await explained).toBe(FAILURE);
    expect(printPage).not.toHaveBeenCalled();
  });
});

describe("a PDF of selected pages", () => {
  const PAGES = "7-9,3-4";
  const PLACEHOLDER =
    "%PDF-1.7 <</Type/Pages/Count 1/Kids[3 0 R]>> /MediaBox[0 0 595 842]/Parent <</Length 8/Filter/FlateDecode>>";

  async function spoolOf(text: string): Promise<Spool> {
    const budget = new ByteBudget(1000, 1000);
    const spool = new Spool({ directory: tmpdir(), maxOutputBytes: 1000, memory: budget, disk: budget }, "caller");
    onTestFinished(() => spool.close());
    expect(await spool.append(Buffer.from(text))).toBe("kept");
    return spool;
  }

  it.each<[string, TypstReport, RenderFailure | null]>([
    ["matches nothing where its lowest page cannot be printed", NOTHING, SELECTION_EMPTY],
    ["matches where that page can be printed", PRINTED, null],
    ["matches where that page is too large", resultOf({ kind: "stopped", reason: "output-too-large" }, 10_000), null],
    ["is delivered where the second compile is stopped", resultOf({ kind: "stopped", reason: "render-timeout" }), null],
    ["is delivered where that needs too much time", resultOf({ kind: "signalled", signal: "SIGXCPU" }), null],
    ["is delivered where that fails", REFUSED, null],
    ["is delivered where that never runs", resultOf({ kind: "not-started", cause: new Error("failed") }), null],
    ["is that the client has left, if it has by then", LEFT, CLIENT_GONE],
  ])("that looks like the blank page %s", async (_what, lowestPage, expected) => {
    const printPage = vi.fn(async () => lowestPage);
    expect(await failureOfSelection(PAGES, await spoolOf(PLACEHOLDER), printPage)).toBe(expected);
    expect(printPage.mock.calls).toEqual([[3]]);
  });

  it.each([
    ["has another size", PLACEHOLDER.replace("595 842", "595.27563 841.8898")],
    ["has several pages", PLACEHOLDER.replace("Count 1", "Count 10")],
    ["has content", PLACEHOLDER.replace("Length 8", "Length 80")],
  ])("is not compiled again where it %s", async (_what, text) => {
    const printPage = vi.fn(async () => NOTHING);
    expect(await failureOfSelection(PAGES, await spoolOf(text), printPage)).toBeNull();
    expect(printPage).not.toHaveBeenCalled();
  });
});
