#!/usr/bin/env bash
# One YAML file with postal codes is three different files to PyYAML, to a parser of YAML 1.2, and to Typst.
#
# PyPI's PyYAML 6.0.4, ruamel.yaml 0.19.1, typst 0.15.2 (Typst 0.15.1). 2026-11-29.
# Expected: parsers of YAML 1.2 agree, and Typst, whose parser is one of them, loses the zero of 01067 as the others do. Whoever
#   knows PyYAML expects an octal number. A template that shows the code rightly says that the file is right.
# Happens: to Typst, what begins with a zero is text, so the letter is right. PyYAML reads 01067 as octal 567 but 08056, which is
#   no octal number, as text: which towns are wrong depends on their digits. YAML 1.2, also npm's yaml and js-yaml, has 1067 and 8056.
# Seen: 01067 is 567, 1067, "01067"; 08056 is "08056", 8056, "08056"; 06511 is 3401, 6511, "06511"

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet PyYAML==6.0.4 ruamel.yaml==0.19.1 typst==0.15.2; } >log 2>&1 ||
  set_up_failed "PyYAML 6.0.4, ruamel.yaml 0.19.1 and typst 0.15.2"
printf 'dresden: 01067\nzwickau: 08056\nnew-haven: 06511\n' >towns.yaml
printf '#metadata(yaml("towns.yaml")) <towns>\n' >main.typ
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json
import pathlib

import typst
import yaml
from ruamel.yaml import YAML

written = {"dresden": "01067", "zwickau": "08056", "new-haven": "06511"}
text = pathlib.Path("towns.yaml").read_text()
readings = (
    yaml.safe_load(text),
    YAML(typ="safe").load(text),
    json.loads(typst.query("main.typ", "<towns>", field="value", one=True)),
)
print("; ".join(f"{code} is {', '.join(json.dumps(one[town]) for one in readings)}" for town, code in written.items()))
PYTHON
)
expected='01067 is 567, 1067, "01067"; 08056 is "08056", 8056, "08056"; 06511 is 3401, 6511, "06511"'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
