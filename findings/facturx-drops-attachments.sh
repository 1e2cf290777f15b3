#!/usr/bin/env bash
# factur-x and drafthorse throw away what was attached to the PDF that they make an e-invoice of; drafthorse its bookmarks as well.
#
# PyPI's factur-x 7.8, drafthorse 2025.2.0, weasyprint 70.0, pypdf 7.1.1. 2026-11-28.
# Expected: attaching factur-x.xml adds a file. Invoices carry others, such as hours and delivery notes, which Factur-X allows.
# Happens: both libraries write a new list of attachments with theirs alone, without a word. factur-x attaches others if it is given
#   them in `attachments`; the documentation does not say that those in the PDF are lost. drafthorse copies only the pages:
#   bookmarks and the document's language are lost too, the latter unless it is given `lang`. Attach other files afterwards.
# Seen: before hours.csv, de, 1 bookmark | factur-x factur-x.xml, de, 1 bookmark | drafthorse factur-x.xml, None, 0 bookmark

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
python3 -m venv env >log 2>&1 || set_up_failed "a virtual environment"
env/bin/pip install --quiet factur-x==7.8 drafthorse==2025.2.0 weasyprint==70.0 pypdf==7.1.1 >log 2>&1 ||
  set_up_failed "factur-x 7.8, drafthorse 2025.2.0, weasyprint 70.0 and pypdf 7.1.1"
seen=$(
  env/bin/python - 2>log <<'PYTHON' | tail -n 1
import io

import drafthorse.pdf
import facturx
import pypdf
import weasyprint

RSM, RAM, UDT = (
    f"urn:un:unece:uncefact:data:standard:{name}:100"
    for name in ("CrossIndustryInvoice", "ReusableAggregateBusinessInformationEntity", "UnqualifiedDataType")
)
xml = f"""<rsm:CrossIndustryInvoice xmlns:rsm="{RSM}" xmlns:ram="{RAM}" xmlns:udt="{UDT}"><rsm:ExchangedDocumentContext>
<ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>urn:factur-x.eu:1p0:minimum</ram:ID>
</ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext><rsm:ExchangedDocument><ram:ID>7</ram:ID>
<ram:TypeCode>380</ram:TypeCode><ram:IssueDateTime><udt:DateTimeString format="102">20261128</udt:DateTimeString>
</ram:IssueDateTime></rsm:ExchangedDocument><rsm:SupplyChainTradeTransaction><ram:ApplicableHeaderTradeAgreement>
<ram:SellerTradeParty><ram:Name>Seller</ram:Name><ram:PostalTradeAddress><ram:CountryID>DE</ram:CountryID>
</ram:PostalTradeAddress></ram:SellerTradeParty><ram:BuyerTradeParty><ram:Name>Buyer</ram:Name></ram:BuyerTradeParty>
</ram:ApplicableHeaderTradeAgreement><ram:ApplicableHeaderTradeDelivery/><ram:ApplicableHeaderTradeSettlement>
<ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode><ram:SpecifiedTradeSettlementHeaderMonetarySummation>
<ram:TaxBasisTotalAmount>1</ram:TaxBasisTotalAmount><ram:GrandTotalAmount>1</ram:GrandTotalAmount>
<ram:DuePayableAmount>1</ram:DuePayableAmount></ram:SpecifiedTradeSettlementHeaderMonetarySummation>
</ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>""".encode()


def has(pdf: bytes) -> str:
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    return f"{' '.join(reader.attachments)}, {reader.root_object.get('/Lang')}, {len(reader.outline)} bookmark"


hours = weasyprint.Attachment(string="day,hours", name="hours.csv")
page = weasyprint.HTML(string='<html lang="de"><title>Rechnung 7</title><h1>Rechnung 7</h1>')
pdf = page.write_pdf(pdf_variant="pdf/a-3b", attachments=[hours])
made = {"before": pdf, "factur-x": facturx.generate_from_binary(pdf, xml), "drafthorse": drafthorse.pdf.attach_xml(pdf, xml)}
print(" | ".join(f"{name} {has(pdf)}" for name, pdf in made.items()))
PYTHON
)
expected='before hours.csv, de, 1 bookmark | factur-x factur-x.xml, de, 1 bookmark | drafthorse factur-x.xml, None, 0 bookmark'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
