#!/usr/bin/env bash
# Pandoc reads a Typst document by calculating it itself, and arrives at other amounts and numbers than Typst.
#
# PyPI's pypandoc_binary 1.17 (pandoc 3.9), typst 0.15.2 (Typst 0.15.1). 2026-11-28.
# Expected: the Word file that pandoc makes of a Typst source says what the PDF says, or pandoc refuses what it does not
#   know, as it does with decimal.
# Happens: without a warning, halves are rounded to the even digit, calc.quo rounds towards zero, floats keep their ".0", and
#   numbering("1.a", 1, 2) repeats its first part.
# Seen: pandoc 2 0.12 -2 3.0 1.a2.b, typst 3 0.13 -3 3 1.b

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet pypandoc_binary==1.17 typst==0.15.2; } >log 2>&1 ||
  set_up_failed "pypandoc_binary 1.17 and typst 0.15.2"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json
import pathlib

import pypandoc
import typst

EXPRESSIONS = [
    "calc.round(2.5)",
    "calc.round(0.125, digits: 2)",
    "calc.quo(-7, 3)",
    "str(3.0)",
    'numbering("1.a", 1, 2)',
]
by_pandoc = pypandoc.convert_text(" ".join(f"#{expression}" for expression in EXPRESSIONS), "plain", format="typst")
shown = "let shown(it) = str(it).replace(sym.minus, \"-\")"
pathlib.Path("main.typ").write_text(f"#{shown}\n#metadata(({', '.join(EXPRESSIONS)}).map(shown).join(\" \")) <values>")
by_typst = json.loads(typst.query("main.typ", "<values>", field="value", one=True))
print(f"pandoc {' '.join(by_pandoc.split())}, typst {by_typst}")
PYTHON
)
expected='pandoc 2 0.12 -2 3.0 1.a2.b, typst 3 0.13 -3 3 1.b'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
