#!/usr/bin/env bash
# svglib draws a shape with a gradient where it stood before its transform: moved by translate(), it is at the corner of the page.
#
# PyPI's svglib 2.3.2, ReportLab 5.1.0, pypdfium2 5.15.2, Pillow 13.0.0. 2026-11-29.
# Expected: since svglib reads gradients, a shape is where a plain fill has it, and at worst its colours are wrong.
# Happens: a transform on the shape itself moves a plain fill and not a gradient; one on a group around it moves both. Nothing is said.
#   Programs that write SVG place shapes by transforms (Typst 0.15.1 does): there the shape leaves its place, or the page. In points:
# Seen: plain fill at 75,45; gradient at 0,0; gradient in a moved group at 75,45

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet svglib==2.3.2 reportlab==5.1.0 pypdfium2==5.15.2 pillow==13.0.0; } >log 2>&1 ||
  set_up_failed "svglib, ReportLab, pypdfium2 and Pillow"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import pathlib

import pypdfium2
from PIL import ImageOps
from reportlab.graphics import renderPDF
from svglib.svglib import svg2rlg

STOPS = '<stop offset="0" stop-color="#ff0000"/><stop offset="1" stop-color="#0000ff"/>'
GRADIENT = f'<linearGradient id="blend" gradientUnits="userSpaceOnUse" x1="0" y1="0" x2="30" y2="0">{STOPS}</linearGradient>'
MOVED = 'transform="translate(100 60)"'


def place(shape: str) -> str:
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100" viewBox="0 0 200 100">'
    pathlib.Path("drawing.svg").write_text(f"{head}<defs>{GRADIENT}</defs>{shape}</svg>")
    renderPDF.drawToFile(svg2rlg("drawing.svg"), "drawing.pdf")
    page = pypdfium2.PdfDocument("drawing.pdf")[0].render(scale=1).to_pil().convert("L")
    left, top, _, _ = ImageOps.invert(page).point(lambda grey: 255 if grey > 60 else 0).getbbox()
    return f"{left},{top}"


plain = place(f'<path {MOVED} d="M0 0h30v30h-30z" fill="#ff0000"/>')
blended = place(f'<path {MOVED} d="M0 0h30v30h-30z" fill="url(#blend)"/>')
in_group = place(f'<g {MOVED}><path d="M0 0h30v30h-30z" fill="url(#blend)"/></g>')
print(f"plain fill at {plain}; gradient at {blended}; gradient in a moved group at {in_group}")
PYTHON
)
expected='plain fill at 75,45; gradient at 0,0; gradient in a moved group at 75,45'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
