#!/usr/bin/env bash
# The transparent colour of a PNG without a palette is painted, by makers of PDF that do honour transparency.
#
# PyPI's fpdf2 2.8.9, reportlab 5.1.0, weasyprint 70.0, pypdfium2 5.15.2. 2026-11-28.
# Expected: a chunk tRNS that makes black transparent shows the page beneath, be black a colour or an entry of a palette;
#   ReportLab's drawImage(mask="auto") and fpdf2 honour alpha channels and palettes.
# Happens: both paint the transparent colour if the PNG has no palette (colour types 0 and 2): a logo gets a black box. WeasyPrint
#   does not. Optimizers of PNG choose this form by themselves where there is one transparent colour.
# Seen, of black that is transparent on white: palette fpdf2 255, reportlab 255, weasyprint 255 | colour fpdf2 0, reportlab 0,
#   weasyprint 255

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet fpdf2==2.8.9 reportlab==5.1.0 weasyprint==70.0 pypdfium2==5.15.2 \
  pillow==13.0.0; } >log 2>&1 || set_up_failed "fpdf2, reportlab, weasyprint and pypdfium2"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io

import fpdf
import pypdfium2
import weasyprint
from PIL import Image
from reportlab.pdfgen import canvas


def shown(name: str) -> str:
    with_fpdf = fpdf.FPDF(unit="pt", format=(40, 40))
    with_fpdf.add_page()
    with_fpdf.image(name, 0, 0, 40, 40)
    drawn = io.BytesIO()
    page = canvas.Canvas(drawn, pagesize=(40, 40))
    page.drawImage(name, 0, 0, 40, 40, mask="auto")
    page.save()
    style = "@page { size: 40pt; margin: 0 } body { margin: 0 } img { display: block; width: 40pt }"
    html = weasyprint.HTML(string=f'<style>{style}</style><img src="{name}">', base_url=".")
    makers = {"fpdf2": bytes(with_fpdf.output()), "reportlab": drawn.getvalue(), "weasyprint": html.write_pdf()}
    pixels = {maker: pypdfium2.PdfDocument(pdf)[0].render().to_pil().convert("L") for maker, pdf in makers.items()}
    return ", ".join(f"{maker} {pixel.getpixel((20, 20))}" for maker, pixel in pixels.items())


Image.new("P", (40, 40)).save("palette.png", transparency=0)
Image.new("RGB", (40, 40)).save("colour.png", transparency=(0, 0, 0))
print(f"palette {shown('palette.png')} | colour {shown('colour.png')}")
PYTHON
)
expected='palette fpdf2 255, reportlab 255, weasyprint 255 | colour fpdf2 0, reportlab 0, weasyprint 255'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
