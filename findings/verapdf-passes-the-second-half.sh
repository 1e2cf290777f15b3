#!/usr/bin/env bash
# Of two tagged PDFs that pikepdf joins, the second loses all its tags, and veraPDF passes the whole as PDF/UA-1 and PDF/A-3a.
#
# Maven's org.verapdf.apps:greenfield-apps:1.28.2, PyPI's typst 0.15.2 (Typst 0.15.1) and pikepdf 10.18.0. 2026-11-28.
# Expected: `pages.extend` joins pages and no tags; then veraPDF finds, by rule 7.1-3, content that is neither tagged nor an
#   artifact.
# Happens: the page that was joined still has its number in a list of tags, StructParents 0, and there the first document's tags
#   stand. veraPDF looks no further. It fails the file only where the second page has more marked contents than the first, so
#   never for two documents of one template and length; PDF/A-3a passes even then. qpdf 11.3.0 and pdfcpu 0.15.0 join in the
#   same way, with the same verdicts on PDF/UA-1. To find it, count the marked contents that the tags name on each page.
# Seen: equal PASS 3a PASS ua1, in tags 6 and 0 | longer PASS 3a FAIL ua1, in tags 6 and 0

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
  -Dartifact=org.verapdf.apps:greenfield-apps:1.28.2 >log 2>&1 || set_up_failed "greenfield-apps 1.28.2"
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 pikepdf==10.18.0; } >log 2>&1 ||
  set_up_failed "typst 0.15.2 and pikepdf 10.18.0"
env/bin/python - >counts 2>log <<'PYTHON' || set_up_failed "the files were not made"
import io
import pathlib

import pikepdf
import typst


def tagged(body: str) -> pikepdf.Pdf:
    date = "datetime(year: 2026, month: 11, day: 28)"
    pathlib.Path("main.typ").write_text(f'#set document(title: "Title", date: {date})\n{body}')
    return pikepdf.open(io.BytesIO(typst.compile("main.typ", pdf_standards=["a-3a", "ua-1"])))


def pages_of(tag: pikepdf.Dictionary, page: pikepdf.Object | None):
    page = tag.get("/Pg", page)
    kids = tag.get("/K")
    for kid in kids if isinstance(kids, pikepdf.Array) else [kids]:
        if isinstance(kid, int):
            yield page
        elif isinstance(kid, pikepdf.Dictionary) and "/MCID" in kid:
            yield kid.get("/Pg", page)
        elif isinstance(kid, pikepdf.Dictionary):
            yield from pages_of(kid, page)


letter = "= Letter\nText\n- One\n- Two"
for name, second in {"equal": letter.replace("One", "Three"), "longer": f"{letter}\n- Three\n- Four"}.items():
    with tagged(letter) as pdf, tagged(second) as other:
        pdf.pages.extend(other.pages)
        pdf.save(f"{name}.pdf")
        named = [page.objgen for page in pages_of(pdf.Root.StructTreeRoot, None)]
        print(name, " and ".join(str(named.count(page.objgen)) for page in pdf.pages))
PYTHON
verdict() {
  java -cp "$folder/maven/org/verapdf/apps/greenfield-apps/1.28.2/greenfield-apps-1.28.2.jar" \
    org.verapdf.apps.GreenfieldCliWrapper --format text "$1.pdf" >verdict 2>log || true
  echo "$1 $(awk '/^(PASS|FAIL) / { print $1, $NF }' verdict | xargs), in tags $(sed -n "s/^$1 //p" counts)"
}
seen="$(verdict equal) | $(verdict longer)"
if [ "$seen" != 'equal PASS 3a PASS ua1, in tags 6 and 0 | longer PASS 3a FAIL ua1, in tags 6 and 0' ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
