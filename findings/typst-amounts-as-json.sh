#!/usr/bin/env bash
# An amount that leaves Typst as JSON is the text of a call: "decimal(\"1.10\")".
#
# PyPI's typst 0.15.2 (Typst 0.15.1). 2026-11-28.
# Expected: json.encode and the command `query` write a decimal as 1.10 or "1.10", or refuse it. A date stays a date in TOML,
#   which has dates: toml() makes datetimes of them.
# Happens: each writes a string of what repr() shows, which Typst calls good for debugging only. The documentation says so of
#   "other types (length, etc.)"; of TOML it says that what can be read is written, and yet a datetime comes back as a string.
#   Convert first: `str(amount)`, `issued.display()`.
# Seen: query {"amount": "decimal(\"1.10\")"}, json.encode "decimal(\"1.10\")", TOML read again str

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
#metadata((amount: decimal("1.10"))) <invoice>
#metadata(json.encode(decimal("1.10"))) <json>
#let issued = datetime(year: 2026, month: 11, day: 28)
#metadata(repr(type(toml(bytes(toml.encode((issued: issued)))).issued))) <toml>
TYPST
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json

import typst

invoice, encoded, toml = (
    json.loads(typst.query("main.typ", f"<{label}>", field="value", one=True)) for label in ("invoice", "json", "toml")
)
print(f"query {json.dumps(invoice)}, json.encode {encoded}, TOML read again {toml}")
PYTHON
)
expected='query {"amount": "decimal(\"1.10\")"}, json.encode "decimal(\"1.10\")", TOML read again str'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
