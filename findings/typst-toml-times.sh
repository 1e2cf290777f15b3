#!/usr/bin/env bash
# A time of TOML is a datetime in Typst only if it is in whole seconds and without an offset; else it is a private dictionary.
#
# PyPI's typst 0.15.2 (Typst 0.15.1). 2026-11-28.
# Expected: what TOML calls a date-time becomes a datetime, or an error that says why not.
# Happens: with an offset or a fraction of a second, toml() gives a dictionary with one member, which belongs to the parser
#   inside. Its type shows far away, in the first call of a method. With Z, the offset is dropped: 10:20Z and 10:20 are equal.
# Seen: 10:20:30 datetime, 10:20:30Z datetime, 10:20:30+01:00 dictionary, 10:20:30.5 dictionary, $__toml_private_datetime, Z is
#   dropped: true

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2; } >log 2>&1 || set_up_failed "typst 0.15.2"
cat >main.typ <<'TYPST'
#let at(time) = toml(bytes("at = 2026-11-28T" + time)).at("at")
#metadata((
  ..("10:20:30", "10:20:30Z", "10:20:30+01:00", "10:20:30.5").map(time => time + " " + repr(type(at(time)))),
  at("10:20:30+01:00").keys().join(),
  "Z is dropped: " + repr(at("10:20:30") == at("10:20:30Z")),
).join(", ")) <read>
TYPST
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json

import typst

print(json.loads(typst.query("main.typ", "<read>", field="value", one=True)))
PYTHON
)
expected='10:20:30 datetime, 10:20:30Z datetime, 10:20:30+01:00 dictionary, 10:20:30.5 dictionary'
# shellcheck disable=SC2016 # The dollar sign is the parser's own.
expected+=', $__toml_private_datetime, Z is dropped: true'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
