import { expect, it } from "vitest";
import { RenderThreads } from "../../../backend/typst/render-threads.ts";
import type { Output } from "../../../rules/output-options.ts";

const MEBIBYTE = 1024 ** 2;
const PDF: Output = { format: "pdf", filename: null, version: null, pages: null, standards: [] };
const PNG = { format: "png", filename: null, page: null, pages: null, archive: "zip" } as const;

it.each([
  ["a PDF", PDF, [1, 1, 4, 8]],
  ["PNG pages at 144 ppi", { ...PNG, ppi: 144 }, [1, 1, 3, 7]],
  ["PNG pages at 300 ppi", { ...PNG, ppi: 300 }, [1, 1, 2, 4]],
  ["PNG pages at 600 ppi", { ...PNG, ppi: 600 }, [1, 1, 1, 2]],
] as const)("%s has threads for half of its memory", (_what, output, expected) => {
  const threads = [100, 130, 460, 1024].map((mebibytes) =>
    new RenderThreads({ shareOfSlots: () => 64 }, mebibytes * MEBIBYTE).forRunning(output),
  );
  expect(threads).toEqual(expected);
});

it("a render has no more threads than its share of the slots", () => {
  const threads = new RenderThreads({ shareOfSlots: (render) => (render === "next" ? 2 : 3) }, 1024 * MEBIBYTE);
  expect([threads.forNext(PDF), threads.forRunning(PDF)]).toEqual([2, 3]);
});
