#!/usr/bin/env bash
# In two PDFs merged with pypdf or PDFBox, the links of the second go to the first if both were made of one template.
#
# PyPI's pypdf 7.1.1, typst 0.15.2 (Typst 0.15.1), weasyprint 70.0, pypdfium2 5.15.2, Maven's org.apache.pdfbox:pdfbox-app:3.0.8.
#   2026-11-28.
# Expected: both merge bookmarks and links, so a link goes where it went before; a name that both files have is renamed, or
#   there is a warning.
# Happens: Typst and WeasyPrint write a link as the name of its label or id, such as "terms". pypdf leaves out the second
#   file's place of that name, PDFBox writes the name twice, and a reader takes the first: the reference in the second contract
#   opens the terms of the first. The bookmarks are right, as they name no place. pdfcpu 0.15.0 renames such names, and
#   Ghostscript 10.00.0 writes links without names; both get it right.
# Seen, pages that the links and the bookmarks open: typst pypdf links 2 2, bookmarks 2 4, pdfbox links 2 2, bookmarks 2 4 |
#   weasyprint pypdf links 2 2, bookmarks 2 4, pdfbox links 2 2, bookmarks 2 4

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ command -v java && command -v mvn; } >log 2>&1 || set_up_failed "Debian's default-jre-headless or maven is missing"
mvn --batch-mode -Dmaven.repo.local="$folder/maven" dependency:get -Dtransitive=false \
  -Dartifact=org.apache.pdfbox:pdfbox-app:3.0.8 >log 2>&1 || set_up_failed "pdfbox-app 3.0.8"
{ python3 -m venv env && env/bin/pip install --quiet pypdf==7.1.1 typst==0.15.2 weasyprint==70.0 pypdfium2==5.15.2; } >log 2>&1 ||
  set_up_failed "pypdf 7.1.1, typst 0.15.2, weasyprint 70.0 and pypdfium2 5.15.2"
seen=$(
  env/bin/python - 2>log <<'PYTHON' | tail -n 1
import ctypes
import pathlib
import subprocess

import pypdf
import pypdfium2
import pypdfium2.raw as pdfium
import typst
import weasyprint

JAR = "maven/org/apache/pdfbox/pdfbox-app/3.0.8/pdfbox-app-3.0.8.jar"
FILES = ("1.pdf", "2.pdf")


def by_typst(file: str) -> None:
    pathlib.Path("main.typ").write_text('#set heading(numbering: "1")\nSee @terms.\n#pagebreak()\n= Terms <terms>')
    typst.compile("main.typ", output=file)


def by_weasyprint(file: str) -> None:
    weasyprint.HTML(string='<a href="#terms">See</a><h1 id="terms" style="break-before: page">Terms</h1>').write_pdf(file)


def by_pypdf() -> None:
    writer = pypdf.PdfWriter()
    for file in FILES:
        writer.append(file)
    writer.write("pypdf.pdf")


def by_pdfbox() -> None:
    inputs = [argument for file in FILES for argument in ("-i", file)]
    subprocess.run(["java", "-jar", JAR, "merge", *inputs, "-o", "pdfbox.pdf"], check=True, stdout=subprocess.DEVNULL)


def opened(file: str) -> str:
    pdf = pypdfium2.PdfDocument(file)
    links = []
    for page in pdf:
        position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
        while pdfium.FPDFLink_Enumerate(page, position, link):
            place = pdfium.FPDFLink_GetDest(pdf, link) or pdfium.FPDFAction_GetDest(pdf, pdfium.FPDFLink_GetAction(link))
            links.append(str(pdfium.FPDFDest_GetDestPageIndex(pdf, place) + 1))
    bookmarks = [str(bookmark.get_dest().get_index() + 1) for bookmark in pdf.get_toc()]
    return f"links {' '.join(links)}, bookmarks {' '.join(bookmarks)}"


seen = []
for name, maker in {"typst": by_typst, "weasyprint": by_weasyprint}.items():
    for file in FILES:
        maker(file)
        assert opened(file) == "links 2, bookmarks 2"
    by_pypdf()
    by_pdfbox()
    seen.append(f"{name} pypdf {opened('pypdf.pdf')}, pdfbox {opened('pdfbox.pdf')}")
print(" | ".join(seen))
PYTHON
)
expected='typst pypdf links 2 2, bookmarks 2 4, pdfbox links 2 2, bookmarks 2 4'
expected="$expected | weasyprint pypdf links 2 2, bookmarks 2 4, pdfbox links 2 2, bookmarks 2 4"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
