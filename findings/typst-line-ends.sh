#!/usr/bin/env bash
# In Typst's markup the line end after #let, #import, #set and #show is no space, but it is after any other expression.
#
# PyPI's typst 0.15.2 (Typst 0.15.1). 2026-11-28.
# Expected: a line end in the middle of a paragraph is a space, whatever stands before it; and what follows a line end, inside a
#   block comment or not, begins a line.
# Happens: a statement takes its line end with it, and a semicolon or a comment after it gives it back. The line end inside a
#   block comment is none, so that "= T" after it is text and no heading. Sources that programs put together run words into one.
# Seen: let onetwo, import onetwo, let; one two, let with comment one two, expression one1 two, if onex two, // one two,
#   /* */ onetwo, heading after // yes, heading after the line end in /* */ no

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
#let text-of(content) = if content.has("children") { content.children.map(text-of).join() } else if content.has("text") {
  content.text
} else if content == [ ] { " " }
#let text-of-source(source) = text-of(eval(source, mode: "markup"))
#let is-heading(source) = if repr(eval(source, mode: "markup")).contains("heading(") { "yes" } else { "no" }
#metadata((
  "let " + text-of-source("one#let a = 1\ntwo"),
  "import " + text-of-source("one#import calc: abs\ntwo"),
  "let; " + text-of-source("one#let a = 1;\ntwo"),
  "let with comment " + text-of-source("one#let a = 1 // a\ntwo"),
  "expression " + text-of-source("one#1\ntwo"),
  "if " + text-of-source("one#if true [x]\ntwo"),
  "// " + text-of-source("one// a\ntwo"),
  "/* */ " + text-of-source("one/* a\n*/two"),
  "heading after // " + is-heading("#let a = 1; // a\n= T"),
  "heading after the line end in /* */ " + is-heading("#let a = 1; /* a\n*/= T"),
).join(", ")) <read>
TYPST
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import json

import typst

print(json.loads(typst.query("main.typ", "<read>", field="value", one=True)))
PYTHON
)
expected='let onetwo, import onetwo, let; one two, let with comment one two, expression one1 two, if onex two, // one two'
expected+=', /* */ onetwo, heading after // yes, heading after the line end in /* */ no'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
