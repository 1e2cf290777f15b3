#!/usr/bin/env bash
# OkHttp sends a POST again by itself after a 408, and `Retry-After` of a second is what stops it.
#
# Maven's com.squareup.okhttp3:okhttp-jvm:5.5.1. 2026-11-29.
# Expected: a POST is repeated only if the caller says so, and `Retry-After` says how long to wait before that.
# Happens: a 408 is answered by a second request at once, whatever the method; only the answer to that is seen. RFC 9110 allows
#   it, because 408 is for servers that did not get a whole request. With `Retry-After: 1` the first answer is returned, and
#   `Retry-After: 0` changes nothing. The same holds for a 503, which is repeated only with `Retry-After: 0`.
#   retryOnConnectionFailure(false) turns the repetition after a 408 off.
# Seen, requests for one call: 408 2, 408 with 0 2, 408 with 1 1, 408 without retries 1, 503 1, 503 with 0 2, 500 1

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export TMPDIR="$folder"
set_up_failed() {
  echo "set-up failed: $1"
  exit 2
}
{ command -v javac && command -v mvn; } >log 2>&1 || set_up_failed "Debian's default-jdk-headless or maven is missing"
cat >pom.xml <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>f</groupId><artifactId>f</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>com.squareup.okhttp3</groupId><artifactId>okhttp-jvm</artifactId><version>5.5.1</version>
  </dependency></dependencies>
</project>
XML
mvn --batch-mode -Dmaven.repo.local="$folder/maven" dependency:copy-dependencies -DoutputDirectory="$folder/jars" >log 2>&1 ||
  set_up_failed "okhttp-jvm 5.5.1"
cat >Repeat.java <<'JAVA'
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import okhttp3.*;

class Repeat {
  static int status;
  static String retryAfter;
  static final AtomicInteger requests = new AtomicInteger();

  public static void main(String[] none) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/", exchange -> {
      requests.incrementAndGet();
      exchange.getRequestBody().readAllBytes();
      if (retryAfter != null) exchange.getResponseHeaders().set("Retry-After", retryAfter);
      exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
    OkHttpClient usual = new OkHttpClient();
    OkHttpClient careful = usual.newBuilder().retryOnConnectionFailure(false).build();
    System.out.println(String.join(", ",
      "408 " + count(usual, url, 408, null), "408 with 0 " + count(usual, url, 408, "0"),
      "408 with 1 " + count(usual, url, 408, "1"), "408 without retries " + count(careful, url, 408, null),
      "503 " + count(usual, url, 503, null), "503 with 0 " + count(usual, url, 503, "0"),
      "500 " + count(usual, url, 500, null)));
    System.exit(0);
  }

  static int count(OkHttpClient client, String url, int answer, String seconds) throws Exception {
    status = answer;
    retryAfter = seconds;
    requests.set(0);
    client.newCall(new Request.Builder().url(url).post(RequestBody.create("{}", MediaType.get("application/json"))).build())
      .execute().close();
    return requests.get();
  }
}
JAVA
javac -cp 'jars/*' Repeat.java >log 2>&1 || set_up_failed "the program does not compile: $(head -n 1 log)"
seen=$(java -cp '.:jars/*' Repeat 2>log | tail -n 1)
expected='408 2, 408 with 0 2, 408 with 1 1, 408 without retries 1, 503 1, 503 with 0 2, 500 1'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
