#!/usr/bin/env bash
# PyMuPDF calls page i "ageLabeli" if the file says, as it may, that a page label is a page label.
#
# PyPI's PyMuPDF 2.0, pikepdf 10.18.0. 2026-11-28.
# Expected: the entry /Type /PageLabel is optional (ISO 32000-1, table 159) and changes nothing.
# Happens: get_label() takes "/PageLabel" for the entry /P, the prefix, with the text "ageLabel". Typst writes the entry, so
#   every label of its documents is wrong there. pikepdf, pypdf and PDFium read both alike.
# Seen: without type i, ii; with type ageLabeli, ageLabelii; pikepdf i, ii

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet pymupdf==2.0 pikepdf==10.18.0; } >log 2>&1 ||
  set_up_failed "PyMuPDF 2.0 and pikepdf 10.18.0"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import pikepdf
import pymupdf


def write(name: str, **label: pikepdf.Object) -> None:
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.add_blank_page()
        roman = pikepdf.Dictionary(S=pikepdf.Name.r, **label)
        pdf.Root.PageLabels = pikepdf.Dictionary(Nums=pikepdf.Array([0, roman]))
        pdf.save(name)


def labels(name: str) -> str:
    return ", ".join(page.get_label() for page in pymupdf.open(name))


write("without.pdf")
write("with.pdf", Type=pikepdf.Name.PageLabel)
with pikepdf.open("with.pdf") as pdf:
    right = ", ".join(page.label for page in pdf.pages)
print(f"without type {labels('without.pdf')}; with type {labels('with.pdf')}; pikepdf {right}")
PYTHON
)
expected='without type i, ii; with type ageLabeli, ageLabelii; pikepdf i, ii'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
