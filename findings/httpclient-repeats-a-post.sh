#!/usr/bin/env bash
# Apache HttpClient 5 sends a POST again by itself after a 429 or a 503, but not when its connection breaks.
#
# Maven's org.apache.httpcomponents.client5:httpclient5:5.6.5. 2026-11-29.
# Expected: a POST is not repeated by default, as its predecessor had it, because it is not idempotent (RFC 9110, section 9.2.2); a
#   client that repeats one does so where nothing was answered.
# Happens: DefaultHttpRequestRetryStrategy looks at the method when a connection breaks, and not when a status is in its list
#   (429 and 503): it then sends the request once more, after `Retry-After` or a second. Whoever builds on it, such as Spring's
#   RestClient where HttpClient is on the class path, has the same. disableAutomaticRetries() turns it off.
# Seen, requests for one POST: 429 2, 503 2, 500 1, 408 1, broken 1, 429 without retries 1

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
    <groupId>org.apache.httpcomponents.client5</groupId><artifactId>httpclient5</artifactId><version>5.6.5</version>
  </dependency></dependencies>
</project>
XML
mvn --batch-mode -Dmaven.repo.local="$folder/maven" dependency:copy-dependencies -DoutputDirectory="$folder/jars" >log 2>&1 ||
  set_up_failed "httpclient5 5.6.5"
cat >Repeat.java <<'JAVA'
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hc.client5.http.classic.methods.HttpPost;
import org.apache.hc.client5.http.impl.classic.*;
import org.apache.hc.core5.http.io.entity.StringEntity;

class Repeat {
  static int status;
  static final AtomicInteger requests = new AtomicInteger();

  public static void main(String[] none) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/", exchange -> {
      requests.incrementAndGet();
      exchange.getRequestBody().readAllBytes();
      if (status != 0) exchange.sendResponseHeaders(status, -1);
      exchange.close();
    });
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort() + "/";
    HttpClientBuilder usual = HttpClientBuilder.create();
    System.out.println(String.join(", ", "429 " + count(usual, url, 429), "503 " + count(usual, url, 503),
      "500 " + count(usual, url, 500), "408 " + count(usual, url, 408), "broken " + count(usual, url, 0),
      "429 without retries " + count(HttpClientBuilder.create().disableAutomaticRetries(), url, 429)));
    System.exit(0);
  }

  static int count(HttpClientBuilder builder, String url, int answer) throws Exception {
    status = answer;
    requests.set(0);
    HttpPost post = new HttpPost(url);
    post.setEntity(new StringEntity("{}"));
    try (CloseableHttpClient client = builder.build()) {
      client.execute(post, response -> null);
    } catch (IOException broken) {
      if (answer != 0) throw broken;
    }
    return requests.get();
  }
}
JAVA
javac -cp 'jars/*' Repeat.java >log 2>&1 || set_up_failed "the program does not compile: $(head -n 1 log)"
seen=$(java -cp '.:jars/*' Repeat 2>log | tail -n 1)
expected='429 2, 503 2, 500 1, 408 1, broken 1, 429 without retries 1'
if [ "$seen" != "$expected" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "as noted: $seen"
