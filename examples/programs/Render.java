// Renders request.json, with Java 17 or later: `java Render.java`. Java has no JSON parser, so a problem is printed as it came.
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;

class Render {
    public static void main(String[] arguments) throws Exception {
        // A client follows no redirects unless it is told to.
        var client = HttpClient.newHttpClient();
        var request = HttpRequest.newBuilder(URI.create(System.getenv("SERVICE_URL") + "/v1/render"))
            .header("Content-Type", "application/json")
            .header("Accept-Encoding", "identity")
            .header("X-Service-Api-Token", System.getenv("SERVICE_API_TOKEN"))
            .timeout(Duration.ofMinutes(2))
            .POST(HttpRequest.BodyPublishers.ofFile(Path.of("request.json")))
            .build();
        for (int attempt = 1; ; attempt++) {
            String failure = "The connection broke.";
            long seconds = 1;
            try {
                var response = client.send(request, BodyHandlers.ofByteArray());
                var text = new String(response.body(), StandardCharsets.ISO_8859_1);
                if (response.statusCode() != 200) {
                    failure = new String(response.body(), StandardCharsets.UTF_8);
                    seconds = retryAfter(response);
                } else if (text.stripTrailing().endsWith("%%EOF")) {
                    Files.write(Path.of("document.pdf"), response.body());
                    return;
                }
            } catch (IOException broken) {
                failure += " " + broken;
            }
            if (seconds < 0 || attempt == 5) {
                System.err.println(failure);
                System.exit(1);
            }
            Thread.sleep(Duration.ofSeconds(Math.min(seconds, 300)).toMillis());
        }
    }

    /** The seconds for which a 429 or 503 asks, as a number or a date; negative if it does not, and for a 408, which would only come again. */
    static long retryAfter(HttpResponse<?> response) {
        if (response.statusCode() != 429 && response.statusCode() != 503) return -1;
        var value = response.headers().firstValue("Retry-After").orElse("");
        try {
            if (value.matches("\\d{1,9}")) return Long.parseLong(value);
            var date = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME);
            return Math.max(0, Duration.between(Instant.now(), date).toSeconds() + 1);
        } catch (DateTimeException none) {
            return -1;
        }
    }
}
