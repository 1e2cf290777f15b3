#!/usr/bin/env bash
# WeasyPrint writes the language of <html> alone into a PDF/UA file: a screen reader speaks the German paragraph as English.
#
# PyPI's weasyprint 70.0, typst 0.15.2 (Typst 0.15.1), pikepdf 10.18.0. 2026-11-28.
# Expected: lang="de" of a paragraph or a span becomes /Lang of its tag. WeasyPrint reads the attribute, since it hyphenates by it,
#   and WCAG asks for the language of parts in HTML and in PDF alike (technique PDF19).
# Happens: the catalog has /Lang; no tag and no marked content has one, and there is no warning. veraPDF 1.28.2 passes the
#   file as PDF/UA-1: it cannot tell the languages apart. Typst writes one at the paragraph's tag and one at the span's text.
# Seen: weasyprint document en, tags none, contents none | typst document en, tags de, contents fr

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

html = '<html lang="en"><title>Title</title><p>Terms</p><p lang="de">Zahlbar sofort</p><p>Hello <span lang="fr">monde</span></p>'
pathlib.Path("main.typ").write_text(
    '#set document(title: "Title")\n#set text(lang: "en")\n'
    'Terms\n\n#text(lang: "de")[Zahlbar sofort]\n\nHello #text(lang: "fr")[monde]'
)


def languages(pdf: bytes) -> str:
    with pikepdf.open(io.BytesIO(pdf)) as file:
        tags = [str(o.Lang) for o in file.objects if isinstance(o, pikepdf.Dictionary) and "/S" in o and "/Lang" in o]
        marked = [c.operands[1] for c in pikepdf.parse_content_stream(file.pages[0]) if str(c.operator) == "BDC"]
        contents = [str(o.Lang) for o in marked if isinstance(o, pikepdf.Dictionary) and "/Lang" in o]
        return f"document {file.Root.Lang}, tags {' '.join(tags) or 'none'}, contents {' '.join(contents) or 'none'}"


print(
    f"weasyprint {languages(weasyprint.HTML(string=html).write_pdf(pdf_variant='pdf/ua-1'))}"
    f" | typst {languages(typst.compile('main.typ', pdf_standards=['ua-1']))}"
)
PYTHON
)
expected='weasyprint document en, tags none, contents none | typst document en, tags de, contents fr'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
