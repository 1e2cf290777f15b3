/** The request as the client types and encodes it. */
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  binaryFile,
  jsonText,
  type PdfOptions,
  type PdfStandards,
  type PngOptions,
  type SvgOptions,
} from "../../../clients/typescript/client.ts";
import { encodeRequest } from "../../../clients/typescript/render-request.ts";
import { constraintsDocument } from "../../../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import type { Output } from "../../../rules/output-options.ts";
import { asConstraints, checkRequest } from "../../../rules/published-rules.ts";

const textOf = (request: Parameters<typeof encodeRequest>[0]) => new TextDecoder().decode(encodeRequest(request));

describe("the typed output", () => {
  it("has the fields of the rules, format by format", () => {
    expectTypeOf<keyof PdfOptions>().toEqualTypeOf<keyof Extract<Output, { format: "pdf" }>>();
    expectTypeOf<keyof PngOptions>().toEqualTypeOf<keyof Extract<Output, { format: "png" }>>();
    expectTypeOf<keyof SvgOptions>().toEqualTypeOf<keyof Extract<Output, { format: "svg" }>>();
  });

  it("takes every valid value of the rules", () => {
    type PdfOutput = Extract<Output, { format: "pdf" }>;
    expectTypeOf<Omit<PdfOutput, "standards">>().toExtend<PdfOptions>();
    expectTypeOf<PdfOutput["standards"][number]>().toEqualTypeOf<PdfStandards[number]>();
    expectTypeOf<Extract<Output, { format: "png" }>>().toExtend<PngOptions>();
    expectTypeOf<Extract<Output, { format: "svg" }>>().toExtend<SvgOptions>();
  });
});

describe("the typed standards", () => {
  it("are none, one PDF/A, ua-1 or both: nothing else compiles", () => {
    const right: PdfStandards[] = [[], ["a-2b"], ["ua-1"], ["a-2b", "ua-1"], ["ua-1", "a-3a"]];
    expect(right).toHaveLength(5);
    const wrong: PdfStandards[] = [
      // @ts-expect-error two of PDF/A
      ["a-2b", "a-3b"],
      // @ts-expect-error twice the same
      ["ua-1", "ua-1"],
      // @ts-expect-error three
      ["a-2b", "ua-1", "a-3b"],
      // @ts-expect-error unknown
      ["a-5"],
    ];
    expect(wrong).toHaveLength(4);
  });
});

describe("a binary file", () => {
  it.each([0, 1, 24_575, 24_576, 24_577])("of %i bytes is Base64 of them", (size) => {
    const bytes = Uint8Array.from({ length: size }, (_, index) => index * 7);
    expect(binaryFile(bytes)).toEqual({ encoding: "base64", content: bytes.toBase64() });
    expect(binaryFile(bytes.buffer)).toEqual(binaryFile(bytes));
  });

  it("is the content of a view, not of the memory behind it", () => {
    expect(binaryFile(Uint8Array.of(1, 2, 3, 4).subarray(1, 3)).content).toBe(Uint8Array.of(2, 3).toBase64());
  });
});

describe("a body", () => {
  it.each<[place: string, data: object | number]>([
    ["data is NaN", Number.NaN],
    ["data.price is NaN", { price: 0 / 0, name: null }],
    ["data.rows.500.price is infinite", { rows: [...Array(500).fill({ price: 1 }), { price: -1 / 0 }], none: null }],
    ["data.list.1 is infinite", { list: [null, Number.POSITIVE_INFINITY] }],
    ["data.boxed is NaN", { boxed: Object(Number.NaN) }],
    ["data.due is an invalid date", { due: new Date("tomorrow") }],
    ["data.rows.0.id is a BigInt", { rows: [{ id: 7n }] }],
    ["data.prices is a Map", { prices: new Map([["wood", 10]]) }],
    ["data.names is a Set", { empty: {}, names: new Set(["Ida"]) }],
  ])("is not made of what JSON does not have: %s", (place, data) => {
    const words = `${place}, which JSON does not have: send `;
    expect(() => textOf({ source: "x", data })).toThrow(words);
    const constraints = asConstraints(constraintsDocument(DEFAULT_LIMITS));
    if (constraints === null) throw new Error("no constraints");
    expect(() => checkRequest({ source: "x", data }, constraints)).toThrow(words);
  });

  it("leaves out what is undefined and keeps null", () => {
    expect(textOf({ source: "x", data: undefined, output: { format: "png", page: null, pages: undefined } })).toBe(
      '{"source":"x","output":{"format":"png","page":null}}',
    );
    expect(textOf({ source: "x", data: null })).toBe('{"source":"x","data":null}');
  });

  it("is an object even if a program without types omits everything else", () => {
    expect(textOf({ ...JSON.parse("{}"), data: jsonText("1") })).toBe('{"data":1}');
  });

  it("contains JSON text exactly as written", () => {
    expect(textOf({ source: "ü", data: jsonText(' {"a": 1.50} ') })).toBe('{"data": {"a": 1.50} ,"source":"ü"}');
  });
});
