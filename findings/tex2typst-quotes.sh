#!/usr/bin/env bash
# tex2typst turns a quoted letter in the text of a TeX formula into a variable, and "1{,}000" into "1, 000".
#
# npm's tex2typst 0.6.2, PyPI's typst 0.15.2 (Typst 0.15.1), pypdf 7.1.1. 2026-11-28.
# Expected: what \text{} contains is text, and a converter to strings escapes quotation marks. {,} is how TeX writes a comma within
#   a number, without the space that follows a comma in a list; Typst sets that as 1","000.
# Happens: the quotation marks end the string, so that a letter between them becomes a variable in italics, and a word an unknown
#   variable; the braces are dropped. Neither converter nor compiler complains of the letter or the number.
# Seen: \text{the "x" rate} as "the "x" rate", reads 'the 𝑥 rate' | 1{,}000 as 1, 000, reads '1, 000'

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
npm install --silent --no-audit --no-fund --prefix . tex2typst@0.6.2 >log 2>&1 || set_up_failed "tex2typst 0.6.2"
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 pypdf==7.1.1; } >log 2>&1 ||
  set_up_failed "typst 0.15.2 and pypdf 7.1.1"
reads() {
  printf '$%s$' "$1" >main.typ
  env/bin/python - <<'PYTHON'
import io

import pypdf
import typst

print(repr(pypdf.PdfReader(io.BytesIO(typst.compile("main.typ"))).pages[0].extract_text()))
PYTHON
}
cat >convert.mjs <<'JAVASCRIPT'
import { tex2typst } from "tex2typst";
console.log(tex2typst(process.argv[2]));
JAVASCRIPT
for formula in '\text{the "x" rate}' '1{,}000'; do
  typst=$(node convert.mjs "$formula" 2>log) || typst=
  echo "$formula as $typst, reads $(reads "$typst" 2>log)"
done >seen
seen=$(paste -sd '|' seen | sed 's/|/ | /')
expected="\\text{the \"x\" rate} as \"the \"x\" rate\", reads 'the 𝑥 rate' | 1{,}000 as 1, 000, reads '1, 000'"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
