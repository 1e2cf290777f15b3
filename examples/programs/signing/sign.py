# Signs a PDF of the service invisibly: python sign.py key.pem certificate.pem document.pdf signed.pdf
import io
import pathlib
import sys

from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.sign import PdfSignatureMetadata, signers
from pyhanko.sign.fields import SigSeedSubFilter

key, certificate, unsigned, signed = sys.argv[1:]
signer = signers.SimpleSigner.load(key, certificate)
if signer is None:
    sys.exit("The key or the certificate could not be read.")
# Typst ends a PDF without a line feed, and PDF/A wants one before the objects that a signature adds.
pdf = io.BytesIO(pathlib.Path(unsigned).read_bytes() + b"\n")
metadata = PdfSignatureMetadata(field_name="Signature", subfilter=SigSeedSubFilter.PADES)
output = signers.sign_pdf(IncrementalPdfFileWriter(pdf), metadata, signer=signer)
pathlib.Path(signed).write_bytes(output.getvalue())
