#!/usr/bin/env bash
# An attachment that Typst takes from a folder stops pdfdetach: neither it nor any after it is saved.
#
# PyPI's typst 0.15.2 (Typst 0.15.1), Debian's poppler-utils 22.12.0-2+deb12u3. 2026-11-28.
# Expected: pdf.attach("xml/invoice.xml") attaches a file named invoice.xml; or pdfdetach -saveall goes on after a file that
#   it cannot save.
# Happens: the name in the PDF is the path, "xml/invoice.xml". pdfdetach finds no such folder, names no file in its message, and
#   ends. The attachments are sorted by name, so which are lost depends on their names. Give bytes a name of their own instead:
#   pdf.attach("invoice.xml", read("xml/invoice.xml", encoding: none)).
# Seen: exit code 2, saved a.csv, message I/O Error: Error saving embedded file as ''; with bytes exit code 0, saved
#   a.csv invoice.xml z.csv

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
command -v pdfdetach >/dev/null || set_up_failed "pdfdetach of Debian's poppler-utils is missing"
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2; } >log 2>&1 || set_up_failed "typst 0.15.2"
mkdir xml
echo '<invoice/>' >xml/invoice.xml
echo '1,2' | tee a.csv >z.csv
detached() {
  printf '#pdf.attach("a.csv")\n#pdf.attach("z.csv")\n#pdf.attach(%s)\nText' "$1" >main.typ
  env/bin/python -c 'import typst; typst.compile("main.typ", output="main.pdf")' >log 2>&1 || return 1
  rm -rf saved && mkdir saved
  code=0
  pdfdetach -saveall -o saved main.pdf 2>message || code=$?
  echo "exit code $code, saved $(cd saved && find . -type f | sort | cut -c3- | paste -sd ' ')"
}
path=$(detached '"xml/invoice.xml"') || set_up_failed "the PDF was not made"
message=$(cat message)
bytes=$(detached '"invoice.xml", read("xml/invoice.xml", encoding: none)') || set_up_failed "the PDF was not made"
seen="$path, message $message; with bytes $bytes"
expected="exit code 2, saved a.csv, message I/O Error: Error saving embedded file as ''; with bytes exit code 0, saved a.csv"
expected+=' invoice.xml z.csv'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
