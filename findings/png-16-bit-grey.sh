#!/usr/bin/env bash
# A greyscale PNG of 16 bits, as scanners and instruments make them, becomes a white or a black picture in a PDF.
#
# PyPI's fpdf2 2.8.9, reportlab 5.1.0, weasyprint 70.0, typst 0.15.2, pypdfium2 5.15.2. 2026-11-28.
# Expected: the upper 8 bits of each sample are taken, as the same makers do for 16-bit colour: a grey of 0x8000 shows as 128.
# Happens: fpdf2 and ReportLab write white, WeasyPrint black, and none warns. All three read with Pillow, which cuts 16-bit grey
#   off at 255 where it is converted to 8 bits. Typst writes the picture.
# Seen: typst 128 | fpdf2 255 | reportlab 255 | weasyprint 0

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet fpdf2==2.8.9 reportlab==5.1.0 weasyprint==70.0 typst==0.15.2 \
  pypdfium2==5.15.2 pillow==13.0.0; } >log 2>&1 || set_up_failed "fpdf2, reportlab, weasyprint, typst and pypdfium2"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import pathlib

import fpdf
import pypdfium2
import typst
import weasyprint
from PIL import Image
from reportlab.pdfgen import canvas


def shown(pdf: bytes) -> int:
    return pypdfium2.PdfDocument(bytes(pdf))[0].render().to_pil().convert("L").getpixel((20, 20))


Image.new("I;16", (40, 40), 0x8000).save("grey.png")
by_fpdf = fpdf.FPDF(unit="pt", format=(40, 40))
by_fpdf.add_page()
by_fpdf.image("grey.png", 0, 0, 40, 40)
drawn = io.BytesIO()
page = canvas.Canvas(drawn, pagesize=(40, 40))
page.drawImage("grey.png", 0, 0, 40, 40)
page.save()
style = "@page { size: 40pt; margin: 0 } body { margin: 0 } img { display: block; width: 40pt }"
by_weasyprint = weasyprint.HTML(string=f'<style>{style}</style><img src="grey.png">', base_url=".").write_pdf()
pathlib.Path("a.typ").write_text('#set page(width: 40pt, height: 40pt, margin: 0pt)\n#image("grey.png", width: 40pt)')
print(f"typst {shown(typst.compile('a.typ'))} | fpdf2 {shown(by_fpdf.output())} | reportlab {shown(drawn.getvalue())}",
      f"| weasyprint {shown(by_weasyprint)}")
PYTHON
)
expected='typst 128 | fpdf2 255 | reportlab 255 | weasyprint 0'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
