#!/usr/bin/env bash
# python-barcode and ReportLab make a valid bar code of a mistyped EAN, with another number than the one that they were given.
#
# PyPI's python-barcode 0.16.1, reportlab 5.1.0, pypdfium2 5.15.2, zxing-cpp 3.1.1; npm's bwip-js 4.11.4. 2026-11-29.
# Expected: the last digit of an EAN is there to find mistakes. Whoever is given all 13 checks it, as bwip-js does; 14 digits, the
#   GTIN of a carton, are no EAN-13.
# Happens: both take the first 12 digits and compute the last one anew, without a word. With two digits swapped, the scanner reads a
#   number that nobody has written, and finds nothing wrong with it. The text below the bars is that number too. A GTIN of 14 digits
#   loses its end; too few digits are filled up with zeros by ReportLab. `no_checksum` of python-barcode draws a wrong digit as it is.
# Seen: 4006381333931 is 4006381333931, 4006381333931, drawn; 4006383133931 is 4006383133935, 4006383133935, refused;
#   14006381333938 is 1400638133399, 1400638133399, refused

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{
  python3 -m venv env && env/bin/pip install --quiet python-barcode==0.16.1 reportlab==5.1.0 pypdfium2==5.15.2 zxing-cpp==3.1.1 \
    pillow==13.0.0 numpy
} >log 2>&1 || set_up_failed "python-barcode 0.16.1, reportlab 5.1.0, pypdfium2 5.15.2 and zxing-cpp 3.1.1"
npm install --silent --no-save --prefix . bwip-js@4.11.4 >log 2>&1 || set_up_failed "bwip-js 4.11.4"

cat >bwip.mjs <<'JAVASCRIPT'
import bwip from "bwip-js/node";
try {
  bwip.raw({ bcid: "ean13", text: process.argv[2] });
  console.log("drawn");
} catch {
  console.log("refused");
}
JAVASCRIPT
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import subprocess

import barcode
import numpy
import pypdfium2
import zxingcpp
from barcode.writer import ImageWriter
from PIL import Image, ImageOps
from reportlab.graphics.barcode import createBarcodeDrawing


def read(picture):
    found = zxingcpp.read_barcode(numpy.array(ImageOps.expand(picture.convert("L"), 100, 255)))
    return found.text if found else "not read"


def by_python_barcode(number):
    file = io.BytesIO()
    barcode.EAN13(number, writer=ImageWriter()).write(file, {"write_text": False})
    return read(Image.open(file))


def by_reportlab(number):
    pdf = createBarcodeDrawing("EAN13", value=number, barWidth=1.5).asString("pdf")
    return read(pypdfium2.PdfDocument(pdf)[0].render(scale=3).to_pil())


def by_bwip(number):
    return subprocess.run(["node", "bwip.mjs", number], capture_output=True, text=True).stdout.strip()


makers = (by_python_barcode, by_reportlab, by_bwip)
numbers = ("4006381333931", "4006383133931", "14006381333938")
print("; ".join(f"{number} is {', '.join(make(number) for make in makers)}" for number in numbers))
PYTHON
)
expected="4006381333931 is 4006381333931, 4006381333931, drawn; 4006383133931 is 4006383133935, 4006383133935, refused; \
14006381333938 is 1400638133399, 1400638133399, refused"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
