#!/usr/bin/env bash
# Skia cuts a symbol of an SVG at its origin although overflow="visible" stands on it: glyphs lose what is on the other side of the line.
#
# npm's @napi-rs/canvas 1.1.1 and @resvg/resvg-js 2.6.2. 2026-11-29.
# Expected: overflow="visible" on a <symbol> draws all of it, as the default "hidden" does not (SVG 1.1, section 14.3.3). Browsers do so.
# Happens: @napi-rs/canvas clips to the viewport of the symbol, whose corner is the origin, as without the attribute. Nothing is said.
#   Typst 0.15.1 writes each glyph as such a symbol, with its baseline as the origin: in @napi-rs/canvas g loses its descender, in
#   skia-python 144.1 every letter is lost. The same path in a <g> is drawn whole.
# Seen: resvg: symbol 40 rows, group 40; canvas: symbol 10 rows, group 40

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
npm install --silent --no-audit --no-fund --prefix . @napi-rs/canvas@1.1.1 @resvg/resvg-js@2.6.2 >log 2>&1 ||
  set_up_failed "@napi-rs/canvas 1.1.1 and @resvg/resvg-js 2.6.2"
seen=$(
  node - 2>&1 <<'JAVASCRIPT' | tail -n 1
const { createCanvas, loadImage } = require("@napi-rs/canvas");
const { Resvg } = require("@resvg/resvg-js");
// From 30 above the origin to 10 below it.
const drawing = (begin, end) => `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
  width="100" height="100" viewBox="0 0 100 100"><rect width="100" height="100" fill="#ffffff"/>
  <defs>${begin}<path d="M0 -30h30v40h-30z"/>${end}</defs><use xlink:href="#glyph" x="10" y="50" fill="#000000"/></svg>`;
const drawings = {
  symbol: drawing('<symbol id="glyph" overflow="visible">', "</symbol>"),
  group: drawing('<g id="glyph">', "</g>"),
};
const programs = {
  resvg: (svg) => new Resvg(svg).render().pixels,
  canvas: async (svg) => {
    const context = createCanvas(100, 100).getContext("2d");
    context.drawImage(await loadImage(Buffer.from(svg)), 0, 0);
    return context.getImageData(0, 0, 100, 100).data;
  },
};
const RED_AT_COLUMN_20 = (row) => 4 * (100 * row + 20);
(async () => {
  const lines = [];
  for (const [program, draw] of Object.entries(programs)) {
    const rows = [];
    for (const svg of Object.values(drawings)) {
      const pixels = await draw(svg);
      rows.push(Array.from({ length: 100 }, (_, row) => pixels[RED_AT_COLUMN_20(row)]).filter((red) => red < 128).length);
    }
    lines.push(`${program}: symbol ${rows[0]} rows, group ${rows[1]}`);
  }
  console.log(lines.join("; "));
})();
JAVASCRIPT
)
expected='resvg: symbol 40 rows, group 40; canvas: symbol 10 rows, group 40'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
