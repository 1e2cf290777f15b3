import * as v from "valibot";
import { expect, it } from "vitest";
import { RenderThreads } from "../../../backend/compiler/render-threads.ts";
import { OUTPUT_SCHEMAS, DEFAULT_OUTPUT as PDF } from "../../../rules/output-options.ts";

const MEBIBYTE = 1024 ** 2;
const PNG = v.parse(OUTPUT_SCHEMAS.png, { format: "png", archive: "zip" });

it.each([
  ["a PDF", PDF, [1, 1, 4, 8]],
  ["PNG pages at 144 ppi", { ...PNG, ppi: 144 }, [1, 1, 3, 7]],
  ["PNG pages at 300 ppi", { ...PNG, ppi: 300 }, [1, 1, 2, 4]],
  ["PNG pages at 600 ppi", { ...PNG, ppi: 600 }, [1, 1, 1, 2]],
] as const)("%s has threads for half of its memory", (_what, output, expected) => {
  const threads = [100, 130, 460, 1024].map((mebibytes) =>
    new RenderThreads({ shareOfSlots: () => 64 }, mebibytes * MEBIBYTE, 64).forOutput(output),
  );
  expect(threads).toEqual(expected);
});

it("a render has no more threads than its share of the slots, and than there are cores", () => {
  const threadsOn = (cores: number) => new RenderThreads({ shareOfSlots: () => 4 }, 1024 * MEBIBYTE, cores);
  expect([threadsOn(8).forOutput(PDF), threadsOn(3).forOutput(PDF)]).toEqual([4, 3]);
});
