#!/usr/bin/env bash
# veraPDF passes a file that claims PDF/A-1b and PDF/UA-1 without looking at PDF/UA-1: exit code 0, though no page has a tag.
#
# Maven's org.verapdf.apps:greenfield-apps:1.28.2, PyPI's typst 0.15.2 (Typst 0.15.1) and pikepdf 10.18.0. 2026-11-28.
# Expected: without --flavour, veraPDF judges each standard that the XMP metadata claims, as it does for PDF/A-2b with PDF/UA-1.
# Happens: PDF/A-1 is of PDF 1.4 and PDF/UA-1 of PDF 1.7, so the second is skipped, which only a warning on standard error says.
#   The report has one line, and it says PASS. --flavour ua1 fails the file.
# Seen: a-1b PASS 1b, exit code 0 | a-2b PASS 2b FAIL ua1, exit code 1 | a-1b with --flavour ua1 FAIL ua1, exit code 1

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
env/bin/python - >log 2>&1 <<'PYTHON' || set_up_failed "the files were not made"
import io
import pathlib

import pikepdf
import typst

date = "datetime(year: 2026, month: 11, day: 28)"
pathlib.Path("main.typ").write_text(f'#set document(title: "Title", date: {date})\n= Heading\nText')
for standard in ("a-1b", "a-2b"):
    with pikepdf.open(io.BytesIO(typst.compile("main.typ", pdf_standards=[standard, "ua-1"]))) as pdf:
        del pdf.Root.StructTreeRoot
        del pdf.Root.MarkInfo
        pdf.save(f"{standard}.pdf")
PYTHON
verdict() {
  code=0
  java -cp "$folder/maven/org/verapdf/apps/greenfield-apps/1.28.2/greenfield-apps-1.28.2.jar" \
    org.verapdf.apps.GreenfieldCliWrapper --format text "$@" >verdict 2>log || code=$?
  echo "$(awk '/^(PASS|FAIL) / { print $1, $NF }' verdict | xargs), exit code $code"
}
seen="a-1b $(verdict a-1b.pdf) | a-2b $(verdict a-2b.pdf) | a-1b with --flavour ua1 $(verdict --flavour ua1 a-1b.pdf)"
expected='a-1b PASS 1b, exit code 0 | a-2b PASS 2b FAIL ua1, exit code 1 | a-1b with --flavour ua1 FAIL ua1, exit code 1'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
