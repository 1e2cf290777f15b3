#!/usr/bin/env bash
# "multipleOf": 0.01 refuses 0.07 and one price in nine, in two widely used validators of JSON Schema.
#
# PyPI's jsonschema 4.26.0 and fastjsonschema 2.22.3, npm's ajv 8.20.0. 2026-11-28.
# Expected: 0.07 is a multiple of 0.01; the specification speaks of numbers, not of binary fractions.
# Happens: jsonschema and Ajv divide binary fractions. Of the 100,000 prices from 0.00 to 999.99 they refuse the same 11,426.
#   fastjsonschema refuses none. jsonschema is right as well if price and schema are both read with parse_float=Decimal;
#   Ajv has the option multipleOfPrecision, which its documentation names.
# Seen: jsonschema 11426 0.07 0.14 0.28, with Decimal 0, fastjsonschema 0; Ajv 11426 0.07,0.14,0.28

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet jsonschema==4.26.0 fastjsonschema==2.22.3; } >log 2>&1 ||
  set_up_failed "jsonschema 4.26.0 and fastjsonschema 2.22.3"
npm install --silent --no-audit --no-fund --prefix . ajv@8.20.0 >log 2>&1 || set_up_failed "ajv 8.20.0"
python=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import decimal
import json

import fastjsonschema
import jsonschema

PRICES = [f"{cents // 100}.{cents % 100:02}" for cents in range(100_000)]
SCHEMA = '{"multipleOf": 0.01}'
plain = jsonschema.Draft202012Validator(json.loads(SCHEMA))
exact = jsonschema.Draft202012Validator(json.loads(SCHEMA, parse_float=decimal.Decimal))
compiled = fastjsonschema.compile(json.loads(SCHEMA))
refused = [price for price in PRICES if not plain.is_valid(json.loads(price))]
inexact = sum(not exact.is_valid(json.loads(price, parse_float=decimal.Decimal)) for price in PRICES)
other = 0
for price in PRICES:
    try:
        compiled(json.loads(price))
    except fastjsonschema.JsonSchemaValueException:
        other += 1
print("jsonschema", len(refused), *refused[:3], end=f", with Decimal {inexact}, fastjsonschema {other}\n")
PYTHON
)
javascript=$(
  node - 2>&1 <<'JAVASCRIPT' | tail -n 1
const valid = new (require("ajv/dist/2020").default)({ strict: false }).compile({ multipleOf: 0.01 });
const prices = Array.from({ length: 100_000 }, (_, cents) => (cents / 100).toFixed(2));
const refused = prices.filter((price) => !valid(JSON.parse(price)));
console.log(`Ajv ${refused.length} ${refused.slice(0, 3)}`);
JAVASCRIPT
)
seen="$python; $javascript"
if [ "$seen" != "jsonschema 11426 0.07 0.14 0.28, with Decimal 0, fastjsonschema 0; Ajv 11426 0.07,0.14,0.28" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
