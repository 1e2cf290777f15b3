#!/usr/bin/env bash
# Pandoc drops the width of a LaTeX picture if it is \textwidth or .5\textwidth, and keeps 1\textwidth and 0.5\textwidth.
#
# PyPI's pypandoc_binary 1.17 (pandoc 3.9). 2026-11-28.
# Expected: what is a share of the text's width becomes a percentage, as 0.5\textwidth does. TeX reads a missing factor as 1
#   and needs no digit before the point, and papers are written so.
# Happens: without a factor, with one that begins with the point, and with \columnwidth, the picture has its own size in Typst
#   and in HTML, and pandoc says nothing. So has one of .5in.
# Seen: 0.5\textwidth 50.0%, .5\textwidth lost, 1\textwidth 100.0%, \textwidth lost, 0.5\columnwidth lost, 0.5in 0.5in,
#   .5in lost

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet pypandoc_binary==1.17; } >log 2>&1 || set_up_failed "pypandoc_binary 1.17"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import re

import pypandoc

WIDTHS = [r"0.5\textwidth", r".5\textwidth", r"1\textwidth", r"\textwidth", r"0.5\columnwidth", "0.5in", ".5in"]


def kept(width: str) -> str:
    source = rf"\includegraphics[width={width}]{{a.png}}"
    in_typst = re.search(r"width: ([^),]+)", pypandoc.convert_text(source, "typst", format="latex"))
    in_html = re.search(r"width:([^\";]+)", pypandoc.convert_text(source, "html", format="latex"))
    found = {width[1] if width else "lost" for width in (in_typst, in_html)}
    return " or ".join(sorted(found))


print(", ".join(f"{width} {kept(width)}" for width in WIDTHS))
PYTHON
)
expected='0.5\textwidth 50.0%, .5\textwidth lost, 1\textwidth 100.0%, \textwidth lost, 0.5\columnwidth lost'
expected+=', 0.5in 0.5in, .5in lost'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
