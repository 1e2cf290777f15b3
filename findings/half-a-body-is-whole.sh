#!/usr/bin/env bash
# The clients in the standard libraries of Python, Ruby and PHP give half a file as a whole one, without an error.
#
# Debian's python3 3.11, ruby 3.1 (Net::HTTP 0.2.0) and php-cli 8.2; Perl's HTTP::Tiny 0.080 beside them. 2026-11-29.
# Expected: a response that ends before the length in its `Content-Length` is an error, as RFC 9112, section 8 has it
#   (incomplete messages), and as curl, Go, Java and browsers report it.
# Happens: Python's `response.read()` raises IncompleteRead, but `read(n)`, and so `shutil.copyfileobj(response, file)`,
#   ends as at the end of a file. Ruby's Net::HTTP has `ignore_eof`, which is true by default. PHP's file_get_contents
#   returns what came. Perl's HTTP::Tiny makes a 599 of it.
# Seen: of 2,000 bytes promised and 1,000 sent: read() IncompleteRead, copyfileobj 1000, Net::HTTP 200 with 1000,
#   file_get_contents 1000, HTTP::Tiny 599

set -eu
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$folder"' EXIT
cd "$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
for program in python3 ruby php perl; do
  command -v "$program" >/dev/null || set_up_failed "$program is missing: Debian's python3, ruby, php-cli and perl"
done
cat >server.py <<'PYTHON'
import os
import socket

listener = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename("port.new", "port")
while True:
    connection, _ = listener.accept()
    connection.recv(65536)
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 2000\r\nConnection: close\r\n\r\n"
    connection.sendall(head.encode() + b"x" * 1000)
    connection.close()
PYTHON
python3 server.py >log 2>&1 &
server=$!
for _ in $(seq 100); do
  [ -e port ] && break
  sleep 0.1
done
[ -e port ] || set_up_failed "the server did not start"
address="http://127.0.0.1:$(cat port)/"
seen=$(
  python3 - "$address" <<'PYTHON'
import http.client, os, shutil, sys, urllib.request

try:
    print("read()", len(urllib.request.urlopen(sys.argv[1]).read()), end=", ")
except http.client.IncompleteRead:
    print("read() IncompleteRead", end=", ")
with open("copy", "wb") as file:
    shutil.copyfileobj(urllib.request.urlopen(sys.argv[1]), file)
print("copyfileobj", os.path.getsize("copy"), end=", ")
PYTHON
  ruby -rnet/http -e 'answer = Net::HTTP.get_response(URI(ARGV[0])); print "Net::HTTP #{answer.code} with #{answer.body.size}, "' "$address"
  php -r 'echo "file_get_contents ", strlen(file_get_contents($argv[1])), ", ";' "$address"
  perl -MHTTP::Tiny -e 'print "HTTP::Tiny ", HTTP::Tiny->new->get($ARGV[0])->{status}' "$address"
)
expected="read() IncompleteRead, copyfileobj 1000, Net::HTTP 200 with 1000, file_get_contents 1000, HTTP::Tiny 599"
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
