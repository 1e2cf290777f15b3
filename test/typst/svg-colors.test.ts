/** Colours of SVG 1.1, compared with what Typst itself makes of the same ones. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { svgColorOf } from "../../typst/svg-colors.ts";
import { typstSvg } from "../support/backend/typst-svg.ts";
import { readSvg } from "../support/readers/svg-reader.ts";

const bytesOf = (hex: string) => [...Buffer.from(hex.slice(1), "hex")];

it("the opacity of each of the 256 alphas gives the same alpha to a program that rounds and to one that truncates", () => {
  for (let alpha = 0; alpha < 256; alpha++) {
    const { rgb, opacity } = svgColorOf(`#0a1b2c${alpha.toString(16).padStart(2, "0")}`) ?? {};
    expect(rgb).toBe("#0a1b2c");
    expect(opacity).toMatch(/^(0|1|0\.\d{1,8})$/);
    const exact = 255 * Number(opacity);
    expect([Math.round(exact), Math.trunc(exact)]).toEqual([alpha, alpha]);
    // Cairo keeps 16 bits and takes the upper 8.
    expect(Math.trunc(Number(opacity) * 65_535 + 0.5) >> 8).toBe(alpha);
    expect(Math.fround(Number(opacity))).toBeCloseTo(alpha / 255, 7);
  }
});

it("a colour that SVG 1.1 has stays, and whatever else is not written by Typst", () => {
  for (const paint of ["none", "#123456", "#123456789", "url(#f0A)", "red", "", "oklab(1% 2)", "oklab(1% 2 3"])
    expect(svgColorOf(paint)).toBeNull();
  for (const paint of ["color(display-p3 1 0 0)", "lab(50% 1 2)", "rgb(1 2 3)", "toString", "constructor(1 2 3)"])
    expect(svgColorOf(paint)).toBeNull();
});

it("a link's fill is painted with nothing", () => {
  expect(svgColorOf("transparent")).toEqual({ rgb: "#000000", opacity: "0" });
});

it("a colour of numbers out of range, or that are none, is still one of SVG 1.1, with the alpha that its author wrote", async () => {
  const white = { rgb: "#ffffff", opacity: null };
  const colors = {
    "oklab(60%, float.nan, 0.1, 50%)": { rgb: "#ffffff", opacity: "0.5" },
    "oklab(60%, 0.1, -float.inf)": white,
    "color.hsl(float.inf * 1deg, 10%, 20%, 0.001%)": { rgb: "#ffffff", opacity: "0.00001" },
    "color.mix((oklab(60%, 0.1, 0.1), float.nan), red, space: oklab)": white,
    "oklch(60%, -1.0, 20deg)": { rgb: "#808080", opacity: null },
    "oklab(100%, 0, 0, 99.9999%)": white,
    "color.linear-rgb(0.001%, 0%, 100%, 0.0001%)": { rgb: "#0000ff", opacity: "0" },
  };
  for (const [written, expected] of Object.entries(colors)) {
    const shapes = readSvg(await typstSvg(`#set page(fill: none)\n#rect(fill: ${written})`));
    const paint = shapes.find(({ name }) => name === "path")?.attributes.fill ?? "";
    expect(svgColorOf(paint), `${written}: ${paint}`).toEqual(expected);
  }
});

it("colours of every other space become the sRGB that Typst makes of them, to one of 255 steps", async () => {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  const percent = share.map((value) => `${(100 * value).toFixed(3)}%`);
  const axis = fc.double({ min: -0.5, max: 0.5, noNaN: true }).map((value) => value.toFixed(5));
  const hue = fc.double({ min: -720, max: 720, noNaN: true }).map((value) => `${value.toFixed(3)}deg`);
  const alpha = fc.constantFrom("100%", "0%", "50%", "99.9%", "0.01%", "33.333%");
  const color = fc.oneof(
    fc.tuple(percent, axis, axis, alpha).map((values) => `oklab(${values.join(", ")})`),
    fc
      .tuple(
        percent,
        share.map((value) => (value / 2).toFixed(5)),
        hue,
        alpha,
      )
      .map((values) => `oklch(${values.join(", ")})`),
    fc.tuple(hue, percent, percent, alpha).map((values) => `color.hsl(${values.join(", ")})`),
    fc.tuple(percent, percent, percent, alpha).map((values) => `color.linear-rgb(${values.join(", ")})`),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(color, { minLength: 200, maxLength: 200 }), async (colors) => {
      // The second has no alpha, which Typst would write with fewer digits.
      const source = `#set page(width: auto, height: auto, fill: none)
        #for c in (${colors.join(", ")},) { rect(fill: c); rect(fill: rgb(c.opacify(100%).to-hex())) }`;
      const shapes = readSvg(await typstSvg(source)).filter(({ name }) => name === "path");
      for (const [index, written] of colors.entries()) {
        const [own, typst] = [shapes[2 * index], shapes[2 * index + 1]].map((shape) => shape?.attributes.fill ?? "");
        const { rgb, opacity } = svgColorOf(own ?? "") ?? { rgb: own ?? "", opacity: null };
        const apart = bytesOf(rgb).map((byte, at) => Math.abs(byte - (bytesOf(typst ?? "")[at] ?? Number.NaN)));
        expect(Math.max(...apart), `${written}: ${own} is ${rgb}, not ${typst}`).toBeLessThanOrEqual(1);
        const wanted = Number.parseFloat(/([\d.]+)%\)$/.exec(written)?.[1] ?? "") / 100;
        expect(Number(opacity ?? 1), written).toBeCloseTo(wanted, 4);
      }
    }),
    { numRuns: 5 },
  );
});
