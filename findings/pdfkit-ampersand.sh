#!/usr/bin/env bash
# "Smith & Sons" as author or title makes a PDF/A of pdfmake or pdfkit invalid: its metadata is no XML any more.
#
# npm's pdfmake 0.3.11 and pdfkit 0.20.2, Python's XML parser. 2026-11-28.
# Expected: a library that writes XMP escapes text for XML.
# Happens: & and < go into the packet as they are. No reader can read it, so that the file no longer claims any standard: veraPDF
#   1.28.2 judges it as PDF/A-1b and fails it by rules of which none speaks of XML. With "and" it passes as PDF/A-2b.
# Seen: pdfkit and XML, & not XML; pdfmake and XML, & not XML

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
npm install --silent --no-audit --no-fund --prefix . pdfmake@0.3.11 pdfkit@0.20.2 >log 2>&1 ||
  set_up_failed "pdfmake 0.3.11 and pdfkit 0.20.2"
node - >log 2>&1 <<'JAVASCRIPT' || set_up_failed "the files were not made"
const fs = require("node:fs");
const pdfmake = require("pdfmake");
const PDFDocument = require("pdfkit");
const font = "node_modules/pdfmake/fonts/Roboto/Roboto-Regular.ttf";
pdfmake.setFonts({ Roboto: { normal: font } });
pdfmake.setLocalAccessPolicy(() => true);
pdfmake.setUrlAccessPolicy(() => false);
for (const [name, title] of Object.entries({ and: "Smith and Sons", "&": "Smith & Sons" })) {
  const document = new PDFDocument({ subset: "PDF/A-2b", pdfVersion: "1.7", info: { Title: title }, font });
  document.pipe(fs.createWriteStream(`pdfkit ${name}`));
  document.text("Text").end();
  const definition = { subset: "PDF/A-2b", version: "1.7", info: { title }, content: ["Text"] };
  pdfmake.createPdf(definition).write(`pdfmake ${name}`);
}
JAVASCRIPT
seen=$(
  python3 - 2>&1 <<'PYTHON' | tail -n 1
import pathlib
import re
import xml.etree.ElementTree


def kind(name: str) -> str:
    packet = re.search(rb"<x:xmpmeta.*?</x:xmpmeta>", pathlib.Path(name).read_bytes(), re.DOTALL)
    try:
        xml.etree.ElementTree.fromstring(packet[0])
    except xml.etree.ElementTree.ParseError:
        return "not XML"
    return "XML"


makers = ["pdfkit", "pdfmake"]
print("; ".join(f"{maker} and {kind(f'{maker} and')}, & {kind(f'{maker} &')}" for maker in makers))
PYTHON
)
expected='pdfkit and XML, & not XML; pdfmake and XML, & not XML'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
