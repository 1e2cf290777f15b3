#!/usr/bin/env bash
# XPath rounds a credit note otherwise than its invoice: 2.5 cents become 3, and -2.5 become -2.
#
# PyPI's saxonche 13.1.1 (Saxon-HE, XPath 3.1). 2026-11-28.
# Expected: round(-x) is -round(x), as commerce, Excel and Java's HALF_UP round.
# Happens: round() rounds a half towards positive infinity, exact decimals included; format-number(), in the same stylesheet,
#   rounds a half to the even digit. Both are in the specification. The rules of EN 16931 take abs() before they round VAT; who
#   writes such a rule or stylesheet without it is a cent off in credit notes.
# Seen: round 3 -2, format-number 2.5 as 2, 3.5 as 4, 0.125 as 0.12

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet saxonche==13.1.1; } >log 2>&1 || set_up_failed "saxonche 13.1.1"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
from saxonche import PySaxonProcessor

with PySaxonProcessor(license=False) as saxon:
    xpath = saxon.new_xpath_processor()
    (plus, minus, *formatted) = [
        xpath.evaluate(expression)
        for expression in (
            "round(xs:decimal('2.5'))",
            "round(xs:decimal('-2.5'))",
            "format-number(xs:decimal('2.5'), '0')",
            "format-number(xs:decimal('3.5'), '0')",
            "format-number(xs:decimal('0.125'), '0.00')",
        )
    ]
    print(f"round {plus} {minus}, format-number 2.5 as {formatted[0]}, 3.5 as {formatted[1]}, 0.125 as {formatted[2]}")
PYTHON
)
expected='round 3 -2, format-number 2.5 as 2, 3.5 as 4, 0.125 as 0.12'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
