#!/usr/bin/env bash
# pdftotext removes any hyphen at the end of a line: from numbers, from dates, and the minus sign before an amount.
#
# Debian's poppler-utils 22.12.0-2+deb12u3, PyPI's reportlab 5.1.0. 2026-11-28.
# Expected: words that were hyphenated may be joined; "12-" before "3456" stays what it is. The manual page of pdftotext does
#   not mention hyphens.
# Happens: each pair of lines becomes one word, and a minus sign at the end of a line is gone: -5.00 becomes 5.00.
#   With -layout or -raw all of them stay.
# Seen: order 123456, 202611-28, Balance 5.00; with -layout 12-/3456, 2026-/11-28, -/5.00

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
command -v pdftotext >/dev/null || set_up_failed "pdftotext of Debian's poppler-utils is missing"
{ python3 -m venv env && env/bin/pip install --quiet reportlab==5.1.0; } >log 2>&1 || set_up_failed "reportlab 5.1.0"
env/bin/python - >log 2>&1 <<'PYTHON' || set_up_failed "the PDF was not made"
from reportlab.pdfgen import canvas

page = canvas.Canvas("lines.pdf", pagesize=(300, 200))
text = page.beginText(20, 150)
for line in ["order 12-", "3456,", "2026-", "11-28,", "Balance -", "5.00"]:
    text.textLine(line)
page.drawText(text)
page.save()
PYTHON
plain=$(pdftotext lines.pdf - | tr -d '\f' | xargs)
layout=$(pdftotext -layout lines.pdf - | tr -d '\f' | xargs)
seen="$plain | -layout: $layout"
expected='order 123456, 202611-28, Balance 5.00 | -layout: order 12- 3456, 2026- 11-28, Balance - 5.00'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
