#!/usr/bin/env bash
# CUPS takes a PNG of 203 pixels per inch for one of 202, and so a label of 4 x 6 inches for larger than its paper: it prints four.
#
# Debian's cups 2.4.2-3+deb12u9, cups-filters 1.28.17-3+deb12u2, cups-ppdc; PyPI's pillow 13.0.0. 2026-11-29.
# Expected: PNG has whole pixels per metre. 203 pixels per inch are 7992.1, so programs write 7992, as Pillow does for dpi=203, and
#   readers round that to 203.
# Happens: the filter for pictures cuts 202.997 to 202, and 299.999, from 11811 per metre, to 299. With `natural-scaling=100` the label
#   no longer fits on its paper. With one pixel more per metre, which Pillow writes for dpi=203.02, it does.
# Seen: 203 dots, 7992 per metre: 4 pages; 203 dots, 7993 per metre: 1 pages; 300 dots, 11811 per metre: 4 pages; 300 dots, 11812
#   per metre: 1 pages

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
for program in cupsfilter ppdc; do
  PATH=$PATH:/usr/sbin command -v "$program" >/dev/null ||
    set_up_failed "$program of Debian's cups and cups-ppdc, with cups-filters, is missing"
done
{ python3 -m venv env && env/bin/pip install --quiet pillow==13.0.0; } >log 2>&1 || set_up_failed "pillow 13.0.0"
ppdc -d . /usr/share/cups/drv/sample.drv >log 2>&1 || set_up_failed "the drivers of cups-ppdc"
seen=$(
  PATH=$PATH:/usr/sbin PPD=zebra.ppd env/bin/python - 2>log <<'PYTHON' | tail -n 1
import struct
import subprocess

from PIL import Image


def printed(dots: int, resolution: float) -> str:
    Image.new("L", (4 * dots, 6 * dots), 0).save("label.png", dpi=(resolution, resolution))
    options = ["PageSize=w288h432", f"Resolution={dots}dpi", "natural-scaling=100"]
    chosen = [part for option in options for part in ("-o", option)]
    command = ["cupsfilter", "-p", "zebra.ppd", "-m", "application/vnd.cups-raster", *chosen, "label.png"]
    raster = subprocess.run(command, capture_output=True).stdout
    pages, at = 0, 4
    while at < len(raster):
        (height,) = struct.unpack("<I", raster[at + 376 : at + 380])
        (row_bytes,) = struct.unpack("<I", raster[at + 392 : at + 396])
        at += 1796 + height * row_bytes
        pages += 1
    per_metre = Image.open("label.png").info["dpi"][0] / 0.0254
    return f"{dots} dots, {per_metre:.0f} per metre: {pages} pages"


print("; ".join(printed(*case) for case in [(203, 203), (203, 203.02), (300, 300), (300, 300.02)]))
PYTHON
)
expected='203 dots, 7992 per metre: 4 pages; 203 dots, 7993 per metre: 1 pages; 300 dots, 11811 per metre: 4 pages; 300 dots, 11812 per metre: 1 pages'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
