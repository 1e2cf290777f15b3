#!/usr/bin/env bash
# In Typst, quotient and remainder of a negative number do not belong together: -1234 cents come out as "-13.34".
#
# PyPI's typst 0.15.2 (Typst 0.15.1). 2026-11-28.
# Expected: calc.quo(a, b) * b + calc.rem(a, b) is a, as in every language that has both, whichever way it rounds.
# Happens: calc.quo rounds down and calc.rem towards zero. For -1234 and 100 they are -13 and -34, and together -1334.
#   calc.quo belongs to calc.rem-euclid if the divisor is positive, and calc.trunc(a / b) belongs to calc.rem. The documentation
#   calls the one a floored division, and says of the other that it has the sign of its first argument: each is as documented.
# Seen: quo -13, rem -34, together -1334; rem-euclid 66, together -1234

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2; } >log 2>&1 || set_up_failed "typst 0.15.2"
cat >main.typ <<'TYPST'
#let (cents, euro) = (-1234, 100)
#let (quo, rem, euclid) = (calc.quo(cents, euro), calc.rem(cents, euro), calc.rem-euclid(cents, euro))
#metadata((quo, rem, quo * euro + rem, euclid, quo * euro + euclid)) <numbers>
TYPST
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json

import typst

quo, rem, together, euclid, right = json.loads(typst.query("main.typ", "<numbers>", field="value", one=True))
print(f"quo {quo}, rem {rem}, together {together}; rem-euclid {euclid}, together {right}")
PYTHON
)
expected='quo -13, rem -34, together -1334; rem-euclid 66, together -1234'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
