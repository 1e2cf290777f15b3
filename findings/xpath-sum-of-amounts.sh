#!/usr/bin/env bash
# In XPath the lines 0.10 and 0.20 do not add up to a total of 0.30, neither in version 1.0 nor in 3.1, which has decimals.
#
# PyPI's lxml 6.1.3 (XPath 1.0), saxonche 13.1.1 (Saxon-HE, XPath 3.1). 2026-11-28.
# Expected: sum(line) = total holds, at least where 0.1 + 0.2 = 0.3 does: XPath since 2.0 calculates such literals as decimals.
# Happens: amounts without a schema are untyped, and sum() makes doubles of them. lxml prints the sum as 0.3 in a message, so that
#   "0.3 is not 0.30" is all that one sees. Saxon prints a sum of one million as 1.0E6, which is no decimal of XML Schema. Every
#   amount needs its xs:decimal(), as in the rules of EN 16931.
# Seen: lxml False 0.3; Saxon literals true, sum false, with xs:decimal true, million 1.0E6

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet lxml==6.1.3 saxonche==13.1.1; } >log 2>&1 ||
  set_up_failed "lxml 6.1.3 and saxonche 13.1.1"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
from lxml import etree
from saxonche import PySaxonProcessor

INVOICE = "<invoice><line>0.10</line><line>0.20</line><total>0.30</total><large>999999.5</large><large>0.5</large></invoice>"
invoice = etree.fromstring(INVOICE)
first = f"lxml {invoice.xpath('sum(line) = total')} {invoice.xpath('string(sum(line))')}"
with PySaxonProcessor(license=False) as saxon:
    xpath = saxon.new_xpath_processor()
    xpath.set_context(xdm_item=saxon.parse_xml(xml_text=INVOICE))
    literals = xpath.evaluate("0.1 + 0.2 = 0.3")
    plain = xpath.evaluate("sum(//line) = //total")
    exact = xpath.evaluate("sum(//line/xs:decimal(.)) = //total/xs:decimal(.)")
    million = xpath.evaluate("string(sum(//large))")
    print(f"{first}; Saxon literals {literals}, sum {plain}, with xs:decimal {exact}, million {million}")
PYTHON
)
expected='lxml False 0.3; Saxon literals true, sum false, with xs:decimal true, million 1.0E6'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
