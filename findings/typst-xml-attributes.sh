#!/usr/bin/env bash
# Typst's xml() knows an attribute by its local name only: xml:id replaces id, and xlink:title replaces title.
#
# PyPI's typst 0.15.2 (Typst 0.15.1). 2026-11-28.
# Expected: attributes of two namespaces are two attributes, as elements are told apart by their member `namespace`, or it is an
#   error; and only elements have a tag.
# Happens: the later of the two wins without a word. A comment becomes a child with an empty tag, so that "every child that is no
#   text" is wrong, too.
# Seen: id then xml:id {"id": "b"}, xml:id then id {"id": "a"}, children of <a>1<!-- c -->2</a> "1", tag "", "2"

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
#let first(text) = xml(bytes(text)).first()
#metadata((
  first("<a id='a' xml:id='b'/>").attrs,
  first("<a xml:id='b' id='a'/>").attrs,
  first("<a>1<!-- c -->2</a>").children.map(child => if type(child) == str { child } else { "tag:" + child.tag }),
)) <read>
TYPST
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json

import typst

print(json.dumps(json.loads(typst.query("main.typ", "<read>", field="value", one=True))))
PYTHON
)
expected='[{"id": "b"}, {"id": "a"}, ["1", "tag:", "2"]]'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
