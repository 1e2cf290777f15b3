#!/usr/bin/env bash
# Typst sets Hindi in its font for formulas, without conjuncts, and lets it pass as PDF/A-2u and PDF/UA-1.
#
# PyPI's typst 0.15.2 (Typst 0.15.1), pypdf 7.1.1. 2026-11-28.
# Expected: where no text font has a script, its text is boxes or gets a warning; Typst refuses boxes in PDF/A, so the document
#   is refused.
# Happens: fallback asks which font has the character, not what the font is for. New Computer Modern Math has Devanagari without
#   the rules to join it: each letter stands alone, in its plain form, and the words are misspelt. Arabic and Lao come from
#   DejaVu Sans Mono, the font for code. A check for missing glyphs finds nothing.
# Seen: Hindi NewCMMath-Regular, Arabic DejaVuSansMono, Lao DejaVuSansMono, 0 warnings, letters of the conjunct joined: no

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
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import pathlib
import re

import pypdf
import typst

WORDS = {"Hindi": ("hi", "नमस्ते"), "Arabic": ("ar", "سلام"), "Lao": ("lo", "ສະບາຍດີ")}


def font(language: str, word: str) -> tuple[str, int]:
    pathlib.Path("main.typ").write_text(f'#set document(title: "Title")\n#set text(lang: "{language}")\n{word}')
    pdf, warnings = typst.compile_with_warnings("main.typ", ignore_system_fonts=True, pdf_standards=["a-2u", "ua-1"])
    fonts = pypdf.PdfReader(io.BytesIO(pdf)).pages[0]["/Resources"]["/Font"].values()
    names = [re.sub(r"^/\w{6}\+|-Identity-H$", "", font["/BaseFont"]) for font in fonts]
    return " and ".join(names), len(warnings)


def glyphs(text: str) -> list[str]:
    pathlib.Path("main.typ").write_text(f'#set text(lang: "hi")\n{text}')
    svg = typst.compile("main.typ", format="svg", ignore_system_fonts=True).decode()
    return re.findall(r'<use[^>]*href="#([^"]+)"', svg)


used = {name: font(*word) for name, word in WORDS.items()}
ka, ssa = glyphs("क"), glyphs("ष")
conjunct = glyphs("क्ष")
joined = "no" if len(conjunct) == 3 and conjunct[:1] == ka and conjunct[-1:] == ssa else "yes"
fonts = ", ".join(f"{name} {font_name}" for name, (font_name, _) in used.items())
print(f"{fonts}, {sum(count for _, count in used.values())} warnings, letters of the conjunct joined: {joined}")
PYTHON
)
expected='Hindi NewCMMath-Regular, Arabic DejaVuSansMono, Lao DejaVuSansMono, 0 warnings, letters of the conjunct joined: no'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
