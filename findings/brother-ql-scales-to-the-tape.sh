#!/usr/bin/env bash
# brother_ql squeezes a label as wide as the tape into the part that can be printed, so bars of two dots become one or two wide.
#
# PyPI's brother_ql 0.9.4, Pillow 9.5.0. 2026-11-29.
# Expected: for a tape of 62 mm one makes a page of 62 mm, 732 dots at 300 per inch. What cannot be printed at the edges is cut off;
#   or it is "Bad image dimensions", as one dot too much of a die-cut label is.
# Happens: on endless tape the 732 dots are resampled to 696, and the grey of their edges is cut at the threshold. The log says
#   "Need to resize the image...", the answer nothing. Pillow 10 and later have no ANTIALIAS: there it is an AttributeError.
# Seen: tape, 696 dots: 150x2; 732 dots: 13x1 137x2; die-cut, 271 rows: 150x2; 272 rows: Bad image dimensions

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet brother_ql==0.9.4 pillow==9.5.0; } >log 2>&1 ||
  set_up_failed "brother_ql 0.9.4 and pillow 9.5.0"
seen=$(
  env/bin/python - 2>log <<'PYTHON' | tail -n 1
from itertools import groupby

from brother_ql.conversion import convert
from brother_ql.raster import BrotherQLRaster
from PIL import Image, ImageDraw

BARS = 150


def printed(label: str, width: int, height: int) -> str:
    """The widths of the bars that the printer is told to print, each two dots wide in the picture."""
    picture = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(picture)
    for bar in range(BARS):
        draw.rectangle((40 + 4 * bar, 0, 41 + 4 * bar, height), fill=0)
    rows = []
    printer = BrotherQLRaster("QL-800")
    add = printer.add_raster_data
    printer.add_raster_data = lambda image, *others: (rows.append(image.convert("L")), add(image, *others))
    try:
        convert(qlr=printer, images=[picture], label=label, rotate="0", threshold=50, dither=False)
    except ValueError as error:
        return str(error).split(":")[0]
    line = list(rows[0].crop((0, 9, rows[0].width, 10)).getdata())
    black = max(set(line), key=lambda value: -line.count(value))
    widths = [len(list(run)) for value, run in groupby(line) if value == black]
    return " ".join(f"{widths.count(width)}x{width}" for width in sorted(set(widths)))


print(
    f"tape, 696 dots: {printed('62', 696, 60)}; 732 dots: {printed('62', 732, 60)}; "
    f"die-cut, 271 rows: {printed('62x29', 696, 271)}; 272 rows: {printed('62x29', 696, 272)}"
)
PYTHON
)
expected='tape, 696 dots: 150x2; 732 dots: 13x1 137x2; die-cut, 271 rows: 150x2; 272 rows: Bad image dimensions'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
