#!/usr/bin/env bash
# The title of a PDF/A-4 file is not found by the usual readers: they look where PDF/A-4 forbids it to stand.
#
# PyPI's typst 0.15.2 (Typst 0.15.1), pypdf 7.1.1, PyMuPDF 2.0, pypdfium2 5.15.2. 2026-11-28.
# Expected: a document with a title has one, whatever the standard; a newer profile of PDF/A does not take it away.
# Happens: PDF/A-4 allows no document information dictionary, so title, author and dates stand in the XMP metadata alone.
#   The metadata of pypdf, PyMuPDF and PDFium come from the dictionary; so do those of pdfinfo 22.12. As PDF/A-2b, the same
#   document has its title in all three.
# Seen: a-2b 'Invoice 7' 'Invoice 7' 'Invoice 7' XMP 'Invoice 7' | a-4 None '' '' XMP 'Invoice 7'

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 pypdf==7.1.1 pymupdf==2.0 pypdfium2==5.15.2; } >log 2>&1 ||
  set_up_failed "typst 0.15.2, pypdf 7.1.1, PyMuPDF 2.0 and pypdfium2 5.15.2"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import pathlib

import pymupdf
import pypdf
import pypdfium2
import typst

pathlib.Path("main.typ").write_text(
    '#set document(title: "Invoice 7", author: "A. Person", date: datetime(year: 2026, month: 11, day: 28))\nText'
)


def titles(standard: str) -> str:
    pdf = typst.compile("main.typ", pdf_standards=[standard])
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    title = reader.metadata and reader.metadata.title
    other = pymupdf.open(stream=pdf).metadata["title"]
    third = pypdfium2.PdfDocument(pdf).get_metadata_dict()["Title"]
    return f"{standard} {title!r} {other!r} {third!r} XMP {reader.xmp_metadata.dc_title['x-default']!r}"


print(titles("a-2b"), "|", titles("a-4"))
PYTHON
)
expected="a-2b 'Invoice 7' 'Invoice 7' 'Invoice 7' XMP 'Invoice 7' | a-4 None '' '' XMP 'Invoice 7'"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
