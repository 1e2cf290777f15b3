#!/usr/bin/env bash
# In a PDF/UA table by WeasyPrint the price beside a cell of two rows has the header "Quantity".
#
# PyPI's weasyprint 70.0, typst 0.15.2 (Typst 0.15.1), pikepdf 10.18.0. 2026-11-28.
# Expected: the tags of a cell name the header above it. WeasyPrint lays such a table out correctly, and writes how many rows
#   and columns a cell spans.
# Happens: in the row under a cell of the first column that spans two rows, each cell gets the header one column too far left.
#   Below a header that spans two columns, only the first column gets it. Scope is not written, so readers have nothing else to
#   go by. veraPDF 1.28.2 passes the first table as PDF/UA-1, since each cell names a header, and fails the second by rule 7.5-1.
#   Typst names the right header in both.
# Seen: weasyprint 80.00 Quantity, two columns 2025 none | typst 80.00 Price, two columns 2025 2025

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet weasyprint==70.0 typst==0.15.2 pikepdf==10.18.0; } >log 2>&1 ||
  set_up_failed "weasyprint 70.0, typst 0.15.2 and pikepdf 10.18.0"
seen=$(
  env/bin/python - 2>log <<'PYTHON' | tail -n 1
import io
import pathlib

import pikepdf
import typst
import weasyprint

# Of each table, the headers and their text in the order of the source, and the cells of the row that is looked at.
ROWS = ("Region Item Quantity Price".split(), "Ink 7 80.00".split())
COLUMNS = ("Item 2025 2026".split(), "Pens 5 60.00 7".split())


def by_weasyprint(table: str) -> bytes:
    return weasyprint.HTML(string=f'<html lang="en"><title>Sales</title><table>{table}</table>').write_pdf(pdf_variant="pdf/ua-1")


def by_typst(table: str) -> bytes:
    pathlib.Path("main.typ").write_text(f'#set document(title: "Sales")\n#table(columns: 4, {table})')
    return typst.compile("main.typ", pdf_standards=["ua-1"])


def cells(element):
    kids = element.get("/K")
    for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
        if isinstance(kid, pikepdf.Dictionary):
            yield from [kid] if kid.get("/S") in ("/TH", "/TD") else cells(kid)


def headers(pdf: bytes, names: list[str], last: list[str]) -> dict[str, str]:
    with pikepdf.open(io.BytesIO(pdf)) as file:
        found = list(cells(file.Root.StructTreeRoot))
        ids = {str(cell.ID): name for cell, name in zip([cell for cell in found if cell.S == "/TH"], names, strict=True)}
        of = {}
        for cell, text in zip(found[-len(last) :], last, strict=True):
            attributes = cell.A if isinstance(cell.A, pikepdf.Array) else [cell.A]
            named = [ids[str(name)] for a in attributes if a.O == "/Table" for name in a.get("/Headers", [])]
            of[text] = " ".join(named) or "none"
        return of


def seen(rows: bytes, columns: bytes) -> str:
    wide = headers(columns, *COLUMNS)
    return f"80.00 {headers(rows, *ROWS)['80.00']}, two columns {wide['5']} {wide['60.00']}"


html = seen(
    by_weasyprint(
        "<thead><tr><th>Region<th>Item<th>Quantity<th>Price</thead>"
        "<tbody><tr><td rowspan=2>North<td>Pens<td>5<td>60.00<tr><td>Ink<td>7<td>80.00"
    ),
    by_weasyprint("<thead><tr><th>Item<th colspan=2>2025<th>2026</thead><tbody><tr><td>Pens<td>5<td>60.00<td>7"),
)
markup = seen(
    by_typst(
        "table.header[Region][Item][Quantity][Price], table.cell(rowspan: 2)[North], [Pens], [5], [60.00], [Ink], [7], [80.00]"
    ),
    by_typst("table.header([Item], table.cell(colspan: 2)[2025], [2026]), [Pens], [5], [60.00], [7]"),
)
print(f"weasyprint {html} | typst {markup}")
PYTHON
)
expected='weasyprint 80.00 Quantity, two columns 2025 none | typst 80.00 Price, two columns 2025 2025'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
