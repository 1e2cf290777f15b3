#!/usr/bin/env bash
# After a redirect that keeps the method, requests sends a streamed body again as an empty one, and reports success.
#
# PyPI's requests 2.34.2, httpx 0.28.1. 2026-11-28.
# Expected: after 307 or 308 the body is sent again; what cannot be read twice, such as a generator, is an error: requests has
#   UnrewindableBodyError for it.
# Happens: that error is for files alone. A generator is used up, and so the second request has an empty body. httpx raises
#   StreamConsumed for a generator, and sends nothing as well for any other iterator. Bytes are sent again by both.
# Seen, lengths received: bytes requests 5, httpx 5; generator requests 0, httpx StreamConsumed; iterator requests 0, httpx 0

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ python3 -m venv env && env/bin/pip install --quiet requests==2.34.2 httpx==0.28.1; } >log 2>&1 ||
  set_up_failed "requests 2.34.2 and httpx 0.28.1"
seen=$(
  env/bin/python - 2>&1 <<'PYTHON' | tail -n 1
import http.server
import threading
from collections.abc import Iterator

import httpx
import requests


class Redirecting(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        while "transfer-encoding" in self.headers and (size := int(self.rfile.readline(), 16)) > 0:
            body += self.rfile.read(size)
            self.rfile.readline()
        self.send_response(307 if self.path == "/old" else 200)
        self.send_header("Location", "/new")
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(str(len(body)).encode())

    def log_message(self, *_: object) -> None: ...


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/old"


def by_httpx(body: bytes | Iterator[bytes]) -> str:
    try:
        return httpx.post(url, content=body, follow_redirects=True).text
    except httpx.StreamConsumed as refusal:
        return type(refusal).__name__


PARTS = [b"123", b"45"]
BODIES = {"bytes": lambda: b"12345", "generator": lambda: (part for part in PARTS), "iterator": lambda: iter(PARTS)}
print("; ".join(
    f"{name} requests {requests.post(url, data=body()).text}, httpx {by_httpx(body())}" for name, body in BODIES.items()
))
PYTHON
)
expected='bytes requests 5, httpx 5; generator requests 0, httpx StreamConsumed; iterator requests 0, httpx 0'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
