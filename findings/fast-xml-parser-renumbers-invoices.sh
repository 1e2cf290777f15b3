#!/usr/bin/env bash
# Read by fast-xml-parser, an e-invoice has another number, and a town another postal code.
#
# npm's fast-xml-parser 5.12.1. 2026-11-29.
# Expected: element content without a schema is text. A parser that turns numbers into numbers does so where nothing is lost;
#   this one keeps "12345678901234567890" and "+49341..." as they are, so its author has thought of identifiers.
# Happens: by default "0815" becomes 815, "12E4" 120000, "0x1A" 26 and "1.10" 1.1: an EN 16931 invoice's number (BT-1), buyer
#   reference (BT-10) and postal codes are other ones afterwards, whereas the IBAN beside them is right. What is made of it again
#   as XML or by a template is well-formed and wrong. `parseTagValue: false` keeps all as text.
# Seen: 815, 120000, 26, 4103, 1.1; with parseTagValue false: 0815, 12E4, 0x1A, 04103, 1.10

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . fast-xml-parser@5.12.1 >log 2>&1 || {
  echo "set-up failed: fast-xml-parser 5.12.1"
  exit 2
}
cat >invoice.xml <<'XML'
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
  xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:ID>0815</cbc:ID>
  <cbc:BuyerReference>12E4</cbc:BuyerReference>
  <cbc:AccountingCost>0x1A</cbc:AccountingCost>
  <cbc:PostalZone>04103</cbc:PostalZone>
  <cbc:PayableAmount>1.10</cbc:PayableAmount>
</Invoice>
XML
cat >read.js <<'JAVASCRIPT'
const { XMLParser } = require("fast-xml-parser");
const text = require("node:fs").readFileSync("invoice.xml", "utf8");
const names = ["ID", "BuyerReference", "AccountingCost", "PostalZone", "PayableAmount"];
const read = (options) => {
  const { Invoice } = new XMLParser(options).parse(text);
  return names.map((name) => Invoice[`cbc:${name}`]).join(", ");
};
console.log(`${read({})}; with parseTagValue false: ${read({ parseTagValue: false })}`);
JAVASCRIPT
seen=$(node read.js 2>&1 | tail -n 1)
if [ "$seen" != "815, 120000, 26, 4103, 1.1; with parseTagValue false: 0815, 12E4, 0x1A, 04103, 1.10" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
