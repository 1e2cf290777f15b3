#!/usr/bin/env bash
# Typst uses one file of a font family's style: characters that only another file has may be set in another family, or be boxes.
#
# PyPI's typst 0.15.2 (Typst 0.15.1), font-roboto 0.0.1, fonttools 4.68.0, pypdf 7.1.1. 2026-11-28.
# Expected: two files of one family, weight and style that share its characters, as fonts for the Web come, are one family: each
#   character is taken from the file that has it, and fallback concerns what neither has.
# Happens: to fallback, the other file is a font like any other. The Latin letters beside Roboto's Greek ones are Libertinus
#   Serif, though Roboto's Latin file is there, without a warning. With fallback: false they are boxes, and PDF/A-2b is refused.
# Seen: fallback LibertinusSerif and Roboto, PDF/A-2b made | no fallback Roboto, PDF/A-2b refused | 0 warnings

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
packages=(typst==0.15.2 font-roboto==0.0.1 fonttools==4.68.0 pypdf==7.1.1)
{ python3 -m venv env && env/bin/pip install --quiet "${packages[@]}"; } >log 2>&1 ||
  set_up_failed "typst 0.15.2, font-roboto 0.0.1, fonttools 4.68.0 and pypdf 7.1.1"
roboto=$(env/bin/python -c 'import font_roboto; print(font_roboto.Roboto)')
mkdir fonts
{ env/bin/pyftsubset "$roboto" --text=" abc" --output-file=fonts/latin.ttf &&
  env/bin/pyftsubset "$roboto" --text=" αβγ" --output-file=fonts/greek.ttf; } >log 2>&1 ||
  set_up_failed "the two files were not made"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import io
import pathlib

import pypdf
import typst

FONTS = {"font_paths": ["fonts"], "ignore_system_fonts": True}


def made(fallback: str) -> tuple[str, int]:
    pathlib.Path("main.typ").write_text(f'#set text(font: "Roboto", fallback: {fallback})\nabc αβγ')
    pdf, warnings = typst.compile_with_warnings("main.typ", **FONTS)
    fonts = pypdf.PdfReader(io.BytesIO(pdf)).pages[0]["/Resources"]["/Font"].values()
    names = sorted(font["/BaseFont"].split("+")[1].split("-")[0] for font in fonts)
    try:
        typst.compile("main.typ", pdf_standards=["a-2b"], **FONTS)
        standard = "made"
    except typst.TypstError as error:
        standard = "refused" if "could not be displayed with font" in error.message else error.message
    return f"{' and '.join(names)}, PDF/A-2b {standard}", len(warnings)


(with_fallback, first), (without, second) = made("true"), made("false")
print(f"fallback {with_fallback} | no fallback {without} | {first + second} warnings")
PYTHON
)
expected='fallback LibertinusSerif and Roboto, PDF/A-2b made | no fallback Roboto, PDF/A-2b refused | 0 warnings'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
