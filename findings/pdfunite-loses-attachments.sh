#!/usr/bin/env bash
# pdfunite loses attachments of the second PDF without a word: those with a name that the first has, or all of them.
#
# Debian's poppler-utils 22.12.0-2+deb12u3, PyPI's typst 0.15.2 (Typst 0.15.1), weasyprint 70.0, pypdf 7.1.1. 2026-11-28.
# Expected: pdfunite keeps attachments, where qpdf and others do not; or it says which it cannot keep. Two Factur-X invoices always
#   have one of the same name, factur-x.xml.
# Happens: of one name, the first file's alone is kept: the pages of two invoices with the data of one. Of other names, none of the
#   second file is kept if the list in the first is an object of its own, as WeasyPrint, pikepdf and pypdf write it;
#   from Typst and factur-x, which write it inside the names dictionary, all are. The exit code is 0 each time.
# Seen: first by typst: x.xml + x.xml = x.xml of 1, x.xml + y.xml = x.xml of 1 y.xml of 2 | first by weasyprint: x.xml + x.xml =
#   x.xml of 1, x.xml + y.xml = x.xml of 1

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
command -v pdfunite >/dev/null || set_up_failed "pdfunite of Debian's poppler-utils is missing"
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 weasyprint==70.0 pypdf==7.1.1; } >log 2>&1 ||
  set_up_failed "typst 0.15.2, weasyprint 70.0 and pypdf 7.1.1"
seen=$(
  env/bin/python - 2>log <<'PYTHON' | tail -n 1
import pathlib
import subprocess

import pypdf
import typst
import weasyprint


def by_typst(number: str, name: str) -> bytes:
    pathlib.Path("main.typ").write_text(f'Invoice #pdf.attach("{name}", bytes("{number}"))')
    return typst.compile("main.typ")


def by_weasyprint(number: str, name: str) -> bytes:
    return weasyprint.HTML(string="Invoice").write_pdf(attachments=[weasyprint.Attachment(string=number, name=name)])


def united(maker, second: str) -> str:
    pathlib.Path("1.pdf").write_bytes(maker("1", "x.xml"))
    pathlib.Path("2.pdf").write_bytes(maker("2", second))
    subprocess.run(["pdfunite", "1.pdf", "2.pdf", "both.pdf"], check=True)
    both = pypdf.PdfReader("both.pdf")
    assert len(both.pages) == 2
    kept = [f"{name} of {content.decode()}" for name, contents in both.attachments.items() for content in contents]
    return f"x.xml + {second} = {' '.join(kept)}"


makers = {"typst": by_typst, "weasyprint": by_weasyprint}
print(" | ".join(f"first by {name}: {united(maker, 'x.xml')}, {united(maker, 'y.xml')}" for name, maker in makers.items()))
PYTHON
)
expected='first by typst: x.xml + x.xml = x.xml of 1, x.xml + y.xml = x.xml of 1 y.xml of 2'
expected="$expected | first by weasyprint: x.xml + x.xml = x.xml of 1, x.xml + y.xml = x.xml of 1"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
