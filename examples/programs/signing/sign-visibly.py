# Signs a PDF of the service on its last page:
# python sign-visibly.py key.pem certificate.pem appearance.pdf document.pdf signed.pdf
import io
import pathlib
import sys

from pyhanko.pdf_utils.generic import DictionaryObject, NumberObject, pdf_name
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.layout import AxisAlignment, Margins, SimpleBoxLayoutRule
from pyhanko.sign import PdfSignatureMetadata, PdfSigner, fields, signers
from pyhanko.stamp import StaticStampStyle

key, certificate, appearance, unsigned, signed = sys.argv[1:]
signer = signers.SimpleSigner.load(key, certificate)
if signer is None:
    sys.exit("The key or the certificate could not be read.")
pdf = IncrementalPdfFileWriter(io.BytesIO(pathlib.Path(unsigned).read_bytes() + b"\n"))
field = fields.SigFieldSpec(
    "Signature", on_page=-1, box=(70, 70, 250, 120), readable_field_name="Signature of Ada Example"
)
fields.append_signature_field(pdf, field)

if "/StructTreeRoot" in pdf.root:
    # The tag: a form at the end of the document, which refers to the field, and the field to it.
    tree = pdf.root["/StructTreeRoot"]
    document = tree["/K"].raw_get(0)
    widget = pdf.root["/AcroForm"]["/Fields"].raw_get(-1)
    page = widget.get_object().raw_get("/P")
    names = {"/Type": pdf_name("/OBJR"), "/Obj": widget, "/Pg": page}
    reference = DictionaryObject({pdf_name(name): value for name, value in names.items()})
    names = {"/Type": pdf_name("/StructElem"), "/S": pdf_name("/Form"), "/P": document, "/Pg": page, "/K": reference}
    form = pdf.add_object(DictionaryObject({pdf_name(name): value for name, value in names.items()}))
    document.get_object()["/K"].append(form)
    number = int(tree["/ParentTreeNextKey"])
    tree["/ParentTree"]["/Nums"].extend([NumberObject(number), form])
    tree[pdf_name("/ParentTreeNextKey")] = NumberObject(number + 1)
    widget.get_object()[pdf_name("/StructParent")] = NumberObject(number)
    page.get_object()[pdf_name("/Tabs")] = pdf_name("/S")  # Typst leaves it out in PDF/A-1.
    for changed in (page.get_object(), tree, tree["/ParentTree"], tree["/ParentTree"]["/Nums"], document.get_object()):
        pdf.update_container(changed)

layout = SimpleBoxLayoutRule(AxisAlignment.ALIGN_MID, AxisAlignment.ALIGN_MID, Margins.uniform(0))
stamp = StaticStampStyle.from_pdf_file(appearance, border_width=0, background_layout=layout)
metadata = PdfSignatureMetadata(field_name="Signature", subfilter=fields.SigSeedSubFilter.PADES)
pdf_signer = PdfSigner(metadata, signer=signer, stamp_style=stamp)
pathlib.Path(signed).write_bytes(pdf_signer.sign_pdf(pdf, existing_fields_only=True).getvalue())
