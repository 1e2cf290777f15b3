#!/usr/bin/env bash
# ReportLab breaks a French amount in two, and takes its narrow spaces for plain ones.
#
# PyPI's reportlab 5.1.0, Babel 2.19.0, pypdfium2 5.15.2. 2026-11-28.
# Expected: no line ends within "1 234 567,50". Babel and Intl.NumberFormat separate the thousands of French by U+202F, a space
#   made for it that allows no break, and ReportLab's Paragraph honours the other such space, U+00A0.
# Happens: the paragraph is split at every white space of a list in which U+00A0 is left out and U+202F is not. So the amount ends
#   up on two lines, and its spaces become plain ones, which justified text widens. fpdf2, WeasyPrint and pdfmake keep the same
#   amount on one line. Replace U+202F by U+00A0 first.
# Seen: U+202F 'Total 1 234' '567,50' | U+00A0 'Total' '1 234 567,50'

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet reportlab==5.1.0 babel==2.19.0 pypdfium2==5.15.2; } >log 2>&1 ||
  set_up_failed "reportlab 5.1.0, Babel 2.19.0 and pypdfium2 5.15.2"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
from decimal import Decimal

import pypdfium2
from babel.numbers import format_decimal
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics, ttfonts
from reportlab.platypus import Paragraph, SimpleDocTemplate

pdfmetrics.registerFont(ttfonts.TTFont("Vera", "Vera.ttf"))
amount = format_decimal(Decimal("1234567.5"), "#,##0.00", locale="fr")


def lines(text: str) -> str:
    pdf = io.BytesIO()
    style = ParagraphStyle("text", fontName="Vera", fontSize=12)
    page = SimpleDocTemplate(pdf, pagesize=(130, 200), leftMargin=5, rightMargin=5, topMargin=5, bottomMargin=5)
    page.build([Paragraph(text, style)])
    found = pypdfium2.PdfDocument(pdf.getvalue())[0].get_textpage().get_text_bounded()
    return " ".join(ascii(line.replace("\xa0", " ").strip()) for line in found.splitlines())


assert "\u202f" in amount, "Babel writes another space"
print(f"U+202F {lines(f'Total {amount}')} | U+00A0 {lines('Total ' + amount.replace(chr(0x202F), chr(0xA0)))}")
PYTHON
)
expected="U+202F 'Total 1 234' '567,50' | U+00A0 'Total' '1 234 567,50'"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
