#!/usr/bin/env bash
# Mustang claims PDF/A-3u of every e-invoice: less than a PDF/A-3a with PDF/UA-1 was, and more than a PDF/A-3b is.
#
# Maven's org.mustangproject:Mustang-CLI:2.26.0 and org.verapdf.apps:greenfield-apps:1.28.2, PyPI's typst 0.15.2 (Typst 0.15.1)
#   and pikepdf 10.18.0. 2026-11-28.
# Expected: attaching the XML to a PDF/A-3 leaves its level and its claim of PDF/UA as they were. Mustang knows them: it refuses a
#   PDF that claims no PDF/A.
# Happens: the metadata is written anew. Tags and language stay, but the claim of PDF/UA-1 is gone, so veraPDF no longer looks at
#   it. A valid PDF/A-3b whose fonts do not say which characters they show becomes an invalid PDF/A-3u. The command line makes
#   whoever is logged in the author, in the metadata that PDF/A goes by. The library has setConformanceLevel and setCreator, the
#   command line neither. The title is lost as well, which is known.
# Seen, before and after: tagged PASS 3a PASS ua1 by Seller, PASS 3u by jdoe | no characters PASS 3b by Seller, FAIL 3u by jdoe

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ command -v java && command -v mvn; } >log 2>&1 || set_up_failed "Debian's default-jre-headless or maven is missing"
for artifact in org.mustangproject:Mustang-CLI:2.26.0 org.verapdf.apps:greenfield-apps:1.28.2; do
  mvn --batch-mode -Dmaven.repo.local="$folder/maven" dependency:get -Dtransitive=false -Dartifact="$artifact" >log 2>&1 ||
    set_up_failed "$artifact"
done
{ python3 -m venv env && env/bin/pip install --quiet typst==0.15.2 pikepdf==10.18.0; } >log 2>&1 ||
  set_up_failed "typst 0.15.2 and pikepdf 10.18.0"
env/bin/python - >log 2>&1 <<'PYTHON' || set_up_failed "the invoices were not made"
import io
import pathlib

import pikepdf
import typst

date = "datetime(year: 2026, month: 11, day: 28)"
pathlib.Path("main.typ").write_text(f'#set document(title: "Invoice 7", author: "Seller", date: {date})\n= Invoice 7\nText')
typst.compile("main.typ", output="tagged.pdf", pdf_standards=["a-3a", "ua-1"])
with pikepdf.open(io.BytesIO(typst.compile("main.typ", pdf_standards=["a-3b"], pdf_tags=False))) as pdf:
    for font in pdf.objects:
        if isinstance(font, pikepdf.Dictionary) and "/ToUnicode" in font:
            del font.ToUnicode
    pdf.save("plain.pdf")
PYTHON
CII='urn:un:unece:uncefact:data:standard:'
cat >factur-x.xml <<XML
<rsm:CrossIndustryInvoice xmlns:rsm="${CII}CrossIndustryInvoice:100"
xmlns:ram="${CII}ReusableAggregateBusinessInformationEntity:100" xmlns:udt="${CII}UnqualifiedDataType:100">
<rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>urn:factur-x.eu:1p0:minimum</ram:ID>
</ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext><rsm:ExchangedDocument><ram:ID>7</ram:ID>
<ram:TypeCode>380</ram:TypeCode><ram:IssueDateTime><udt:DateTimeString format="102">20261128</udt:DateTimeString>
</ram:IssueDateTime></rsm:ExchangedDocument><rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement>
<ram:SellerTradeParty><ram:Name>Seller</ram:Name><ram:PostalTradeAddress><ram:CountryID>DE</ram:CountryID>
</ram:PostalTradeAddress></ram:SellerTradeParty><ram:BuyerTradeParty><ram:Name>Buyer</ram:Name></ram:BuyerTradeParty>
</ram:ApplicableHeaderTradeAgreement><ram:ApplicableHeaderTradeDelivery/><ram:ApplicableHeaderTradeSettlement>
<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode><ram:SpecifiedTradeSettlementHeaderMonetarySummation>
<ram:TaxBasisTotalAmount>1</ram:TaxBasisTotalAmount><ram:GrandTotalAmount>1</ram:GrandTotalAmount>
<ram:DuePayableAmount>1</ram:DuePayableAmount></ram:SpecifiedTradeSettlementHeaderMonetarySummation>
</ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>
XML
author='import pikepdf, sys; print(*pikepdf.open(sys.argv[1]).open_metadata()["dc:creator"])'
state() {
  java -cp maven/org/verapdf/apps/greenfield-apps/1.28.2/greenfield-apps-1.28.2.jar \
    org.verapdf.apps.GreenfieldCliWrapper --format text "$1" >verdict 2>log || true
  echo "$(awk '/^(PASS|FAIL) / { print $1, $NF }' verdict | xargs) by $(env/bin/python -c "$author" "$1" 2>log)"
}
both() {
  java -Duser.name=jdoe -jar maven/org/mustangproject/Mustang-CLI/2.26.0/Mustang-CLI-2.26.0.jar --disable-file-logging \
    --action combine --source "$1.pdf" --source-xml factur-x.xml --out "$1-invoice.pdf" --format fx --version 1 --profile M \
    --no-additional-attachments >log 2>&1 || true
  echo "$(state "$1.pdf"), $(state "$1-invoice.pdf")"
}
seen="tagged $(both tagged) | no characters $(both plain)"
expected='tagged PASS 3a PASS ua1 by Seller, PASS 3u by jdoe | no characters PASS 3b by Seller, FAIL 3u by jdoe'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
