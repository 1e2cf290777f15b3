/** Pages as SVG in a real browser: completed for other programs, they look as Typst wrote them, and their links work. */
import { PNG } from "pngjs";
import { expect, it, onTestFinished } from "vitest";
import { completeWhole } from "../../typst/output-completion.ts";
import { typstSvg } from "../support/backend/typst-svg.ts";
import { browserStage } from "./browser.ts";

const stage = browserStage();

const SIZE = { width: 300, height: 200 };
const PAGE = `#set page(width: ${SIZE.width * 0.75}pt, height: ${SIZE.height * 0.75}pt, margin: 9pt)\n`;
const SVG = { format: "svg", filename: null, page: null, pages: null, archive: null } as const;

/** A browser page that shows the SVG, at two pixels for each of its own. */
async function show(svg: Buffer) {
  const context = await stage.browser.newContext({ viewport: SIZE, deviceScaleFactor: 2 });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`data:image/svg+xml;base64,${svg.toString("base64")}`);
  return page;
}

const picture = async (svg: Buffer) => PNG.sync.read(await (await show(svg)).screenshot()).data;

const HALF = 'rgb("#ff000080")';

it.each([
  ["links", '#link("https://e.org/")[one] #box(fill: yellow, link("https://e.org")[two])'],
  [
    "boxes",
    `#rect(fill: ${HALF}, stroke: 3pt + rgb("#0000ff40"))[x] #place(dx: 9pt, dy: -9pt, square(fill: luma(9, 9%)))`,
  ],
  ["text", `#text(30pt, fill: rgb("#12345678"), stroke: 1pt + ${HALF})[Text] #highlight(fill: ${HALF})[high]`],
  ["a table", `#table(columns: 3, fill: (_, y) => luma(0, y * 10%), stroke: ${HALF}, ..range(12).map(i => [#i]))`],
  [
    "linear gradients",
    `#rect(width: 90%, height: 40%, fill: gradient.linear(${HALF}, rgb("#0000ff00"), angle: 20deg))`,
  ],
  ["radial gradients", `#circle(fill: gradient.radial(${HALF}, aqua), stroke: 4pt + gradient.linear(${HALF}, blue))`],
  ["conic gradients", `#circle(radius: 40pt, fill: gradient.conic(${HALF}, rgb("#00ff0033"), blue))`],
  ["gradients of text", `#text(30pt, fill: gradient.linear(${HALF}, rgb("#0000ff11")))[#box[Gradient]]`],
  [
    "tilings",
    `#rect(width: 80%, height: 80%, fill: tiling(size: (9pt, 9pt), square(size: 5pt, fill: ${HALF})), stroke: ${HALF})`,
  ],
  [
    "an image",
    `#rect(fill: ${HALF}) #image(bytes("<svg xmlns='http://www.w3.org/2000/svg' width='99' height='40'><rect width='90' height='30' fill='#ff000080'/></svg>"))`,
  ],
  ["maths", `#text(fill: ${HALF})[$ sum_(i=0)^n sqrt(x_i) $] #strike(stroke: 2pt + ${HALF})[gone]`],
  ["HSL", "#rect(fill: color.hsl(210deg, 60%, 40%, 40%), stroke: 3pt + color.hsl(30deg, 70%, 50%))"],
])("a page looks the same to the pixel: %s", async (_what, source) => {
  const written = await typstSvg(PAGE + source);
  const completed = completeWhole(SVG, written);
  expect([written, completed].map((svg) => svg.includes("-opacity="))).toEqual([false, true]);
  const [before, after] = [await picture(written), await picture(completed)];
  expect(new Set(before).size).toBeGreaterThan(2);
  expect(after.equals(before)).toBe(true);
});

it("a link can be clicked where its words are", async () => {
  const svg = completeWhole(SVG, await typstSvg(`${PAGE}#link("https://e.org/?a&b")[#text(40pt)[words]]`));
  const target = await (await show(svg)).evaluate(() =>
    document.elementFromPoint(60, 40)?.closest("a")?.getAttribute("href"),
  );
  expect(target).toBe("https://e.org/?a&b");
});
