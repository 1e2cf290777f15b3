#!/usr/bin/env bash
# pypst writes the text of a data frame's cells as Typst markup, so that the table says something else than the data.
#
# PyPI's pypst 0.8.1, pandas 3.1.1, typst 0.15.2 (Typst 0.15.1), pypdf 7.1.1. 2026-11-28.
# Expected: Table.from_dataframe prints what is in the cells, as pandas' own to_html and to_latex can.
# Happens: no error and no warning in either program, as long as the text happens to be valid markup: an item's number loses its
#   sign, a currency becomes a formula, "= 4" a heading, and the "~" of a file name a space.
# Seen: 'Tue #1' as 'Tue 1', '= 4' as '4', '$5 or $6' as '5 ∨6', '_id_' as 'id', 'a~b' as 'a b', '1--3' as '1–3'

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet pypst==0.8.1 pandas==3.1.1 typst==0.15.2 pypdf==7.1.1; } >log 2>&1 ||
  set_up_failed "pypst 0.8.1, pandas 3.1.1, typst 0.15.2 and pypdf 7.1.1"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import pathlib

import pandas
import pypdf
import pypst
import typst

CELLS = ["Tue #1", "= 4", "$5 or $6", "_id_", "a~b", "1--3"]


def printed(cell: str) -> str:
    table = pypst.Table.from_dataframe(pandas.DataFrame({"name": [cell]}, index=["row"]))
    pathlib.Path("main.typ").write_text(table.render())
    text = pypdf.PdfReader(io.BytesIO(typst.compile("main.typ"))).pages[0].extract_text()
    return " ".join(text.split("row", 1)[1].split())


print(", ".join(f"{cell!r} as {printed(cell)!r}" for cell in CELLS))
PYTHON
)
expected="'Tue #1' as 'Tue 1', '= 4' as '4', '\$5 or \$6' as '5 ∨6', '_id_' as 'id', 'a~b' as 'a b', '1--3' as '1–3'"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
