import { execa } from "execa";
import { expect, it } from "vitest";
import { parseFontList } from "../../../backend/typst/font-list.ts";
import { typstPath } from "../../support/backend/typst-path.ts";
import { LIBERATION_FAMILY, LIBERATION_FOLDER } from "../../support/fonts.ts";

const USUAL = { min: 100, max: 100 };
const weight = (value: number) => ({ min: value, max: value });

it("has each family with its styles and weights, as Typst prints them", async () => {
  const options = ["--variants", "--ignore-system-fonts", "--font-path", LIBERATION_FOLDER];
  const { stdout } = await execa(typstPath(), ["fonts", ...options]);
  const fonts = parseFontList(stdout);
  const names = (await execa(typstPath(), ["fonts", ...options.slice(1)])).stdout.split("\n");
  expect(fonts.map(({ family }) => family)).toEqual(names);
  const liberation = fonts.find(({ family }) => family === LIBERATION_FAMILY);
  expect(liberation?.variants).toEqual([
    { style: "italic", weight: weight(400), stretch_percent: USUAL },
    { style: "normal", weight: weight(400), stretch_percent: USUAL },
    { style: "italic", weight: weight(700), stretch_percent: USUAL },
    { style: "normal", weight: weight(700), stretch_percent: USUAL },
  ]);
});

/** As Typst 0.15.1 prints Debian's fonts-inter-variable. */
const VARIABLE = `Inter
  ├ /fonts/0/Inter-italic.var.ttf (Variable)
  │   Style: Italic
  │   Stretch: 100%
  │   Weight: 100-900 (Default: 400)
  └ /fonts/0/Inter.var.ttf (Variable)
      Stretch: 62.5%-125% (Default: 100%)
      Slant: -10-0 (Default: 0)
      Weight: 100-900 (Default: 400)

Weight: 1, a family
  ├ /fonts/0/Style: Italic.ttf
  │   Style: Normal, Weight: 350, Stretch: 87.5%
  └ /fonts/0/twice.ttf
      Style: Normal, Weight: 350, Stretch: 87.5%
`;

it("has the ranges of variable fonts, each variant once, whatever the names of files look like", () => {
  const range = { min: 100, max: 900 };
  expect(parseFontList(VARIABLE)).toEqual([
    {
      family: "Inter",
      variants: [
        { style: "normal", weight: range, stretch_percent: { min: 62.5, max: 125 } },
        { style: "italic", weight: range, stretch_percent: USUAL },
      ],
    },
    {
      family: "Weight: 1, a family",
      variants: [{ style: "normal", weight: weight(350), stretch_percent: { min: 87.5, max: 87.5 } }],
    },
  ]);
});

it("is empty if there are no fonts", () => {
  expect(parseFontList("")).toEqual([]);
  expect(parseFontList("\n\n")).toEqual([]);
});
