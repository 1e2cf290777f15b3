#!/usr/bin/env bash
# Strings that Typst writes with yaml.encode come back from PyYAML as a truth value, numbers and a date.
#
# PyPI's typst 0.15.2 (Typst 0.15.1), PyYAML 6.0.4, ruamel.yaml 0.19.1. 2026-11-28.
# Expected: a writer quotes what a reader could take for something else; "null" and "0777" are quoted.
# Happens: Typst writes for YAML 1.2, where no, 1:30, 1_000 and 2026-11-28 are plain strings. PyYAML, the usual reader in Python,
#   follows YAML 1.1, where they are False, 90 (to the base of 60), 1000 and a date. ruamel.yaml reads 1.2, and yet makes a number
#   of 1_000 and a date of the last one.
# Seen: country no False 'no', ratio 1:30 90 '1:30', part 1_000 1000 1000, issued 2026-11-28 date date

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 pyyaml==6.0.4 ruamel.yaml==0.19.1; } >log 2>&1 ||
  set_up_failed "typst 0.15.2, PyYAML 6.0.4 and ruamel.yaml 0.19.1"
cat >main.typ <<'TYPST'
#metadata(yaml.encode((country: "no", ratio: "1:30", part: "1_000", issued: "2026-11-28"))) <written>
TYPST
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import datetime
import json

import ruamel.yaml
import typst
import yaml


def shown(value: object) -> str:
    return "date" if isinstance(value, datetime.date) else repr(value)


written = json.loads(typst.query("main.typ", "<written>", field="value", one=True))
by_pyyaml = yaml.safe_load(written)
by_ruamel = ruamel.yaml.YAML(typ="safe", pure=True).load(written)
lines = dict(line.split(": ") for line in written.splitlines())
print(", ".join(f"{key} {lines[key]} {shown(by_pyyaml[key])} {shown(by_ruamel[key])}" for key in lines))
PYTHON
)
expected="country no False 'no', ratio 1:30 90 '1:30', part 1_000 1000 1000, issued 2026-11-28 date date"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
