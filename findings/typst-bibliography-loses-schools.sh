#!/usr/bin/env bash
# Typst's bibliography leaves out the university of a thesis in every style, and takes "and others" for a person.
#
# PyPI's typst 0.15.2 (Typst 0.15.1), pypdf 7.1.1. 2026-11-28.
# Expected: APA, IEEE, Chicago and MLA name the university that awarded a degree, and BibLaTeX requires the field; "others" at the
#   end of a list of authors has meant "et al." since BibTeX.
# Happens: `school` and `institution` are read without a complaint and never shown, in four styles. "Roe, Rick and others" becomes
#   "Roe, R., & others" in APA, and two authors in the rest.
# Seen: apa no university, & others | ieee no university, and others | chicago-author-date no university, and others |
#   modern-language-association no university, and others

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 pypdf==7.1.1; } >log 2>&1 ||
  set_up_failed "typst 0.15.2 and pypdf 7.1.1"
cat >works.bib <<'BIBLATEX'
@thesis{a, author = {Doe, Jane}, title = {On Rounding}, type = {phdthesis}, institution = {University of Example}, date = {2026}}
@phdthesis{b, author = {Poe, Jane}, title = {On Totals}, school = {University of Example}, year = {2026}}
@book{c, author = {Roe, Rick and others}, title = {On Tables}, publisher = {Example Press}, date = {2026}}
BIBLATEX
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import pathlib

import pypdf
import typst


def in_style(style: str) -> str:
    pathlib.Path("main.typ").write_text(f'#set page(width: 40cm)\n#bibliography("works.bib", full: true, style: "{style}")')
    text = pypdf.PdfReader(io.BytesIO(typst.compile("main.typ"))).pages[0].extract_text()
    university = "university" if "University" in text else "no university"
    before, found, _ = text.partition("others")
    return f"{style} {university}, {before.split()[-1]} {found}"


styles = ["apa", "ieee", "chicago-author-date", "modern-language-association"]
print(" | ".join(in_style(style) for style in styles))
PYTHON
)
expected='apa no university, & others | ieee no university, and others | chicago-author-date no university, and others'
expected+=' | modern-language-association no university, and others'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
