#!/usr/bin/env bash
# Which name a Python program gives a downloaded file depends on the order of filename and filename*, and on the parser.
#
# PyPI's werkzeug 3.1.9, aiohttp 3.14.5; Python 3.11's email package. 2026-11-28.
# Expected: filename* wins over filename, wherever it stands: RFC 6266, section 4.3, asks for it whatever the order.
# Happens: Werkzeug takes the last of the two. email.message.Message, which PEP 594 names in place of cgi.parse_header,
#   takes the plain name in both orders, and EmailMessage the first of the two. aiohttp is right in both.
# Seen, plain name first and last: werkzeug right plain, Message plain plain, EmailMessage plain right, aiohttp right right

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet werkzeug==3.1.9 aiohttp==3.14.5; } >log 2>&1 ||
  set_up_failed "werkzeug 3.1.9 and aiohttp 3.14.5"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
from email.message import EmailMessage, Message

from aiohttp.multipart import content_disposition_filename, parse_content_disposition
from werkzeug.http import parse_options_header

PLAIN = 'filename="invoice.pdf"'
EXTENDED = "filename*=UTF-8''Rechnung%20%E2%82%AC.pdf"


def by_email(kind: type, header: str) -> str:
    message = kind()
    message["Content-Disposition"] = header
    return message.get_filename()


PARSERS = {
    "werkzeug": lambda header: parse_options_header(header)[1]["filename"],
    "Message": lambda header: by_email(Message, header),
    "EmailMessage": lambda header: by_email(EmailMessage, header),
    "aiohttp": lambda header: content_disposition_filename(parse_content_disposition(header)[1]),
}
MEANING = {"invoice.pdf": "plain", "Rechnung €.pdf": "right"}
headers = [f"attachment; {PLAIN}; {EXTENDED}", f"attachment; {EXTENDED}; {PLAIN}"]
print(", ".join(" ".join([name, *(MEANING[parse(header)] for header in headers)]) for name, parse in PARSERS.items()))
PYTHON
)
expected='werkzeug right plain, Message plain plain, EmailMessage plain right, aiohttp right right'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
