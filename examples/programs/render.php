<?php
// Renders letter.typ with data.json, by PHP 8 without extensions: `php render.php`.

$request = [
    'source' => file_get_contents('letter.typ'),
    // Objects, not arrays: an empty one must stay {}.
    'data' => json_decode(file_get_contents('data.json'), false, 128, JSON_THROW_ON_ERROR),
];
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Content-Type: application/json',
        'X-Service-Api-Token: ' . getenv('SERVICE_API_TOKEN'),
        'Accept-Encoding: identity',
    ],
    'content' => json_encode($request, JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION),
    'follow_location' => 0,
    'ignore_errors' => true,
    'timeout' => 120,
]]);

/** The seconds for which a 429 or 503 asks, as a number or a date; null if it does not, and for a 408, which would only come again. */
function retry_after(string $head): ?int
{
    if (!preg_match('/^HTTP\S* (429|503)/', $head) || !preg_match('/^Retry-After: *(.+?)\r?$/mi', $head, $found)) {
        return null;
    }
    $until = ctype_digit($found[1]) ? time() + min(300, (int) $found[1]) : strtotime($found[1]);
    return $until === false ? null : min(300, max(0, $until - time()));
}

for ($attempt = 1; ; $attempt++) {
    $stream = fopen(getenv('SERVICE_URL') . '/v1/render', 'r', false, $context);
    if ($stream === false) {
        exit(1); // PHP has said why.
    }
    $head = implode("\n", stream_get_meta_data($stream)['wrapper_data']);
    $body = (string) stream_get_contents($stream);
    $is_ok = (bool) preg_match('/^HTTP\S* 200/', $head);
    // A connection that breaks in the middle is no failure for PHP.
    if ($is_ok && str_ends_with(rtrim($body), '%%EOF')) {
        file_put_contents('document.pdf', $body);
        exit(0);
    }
    $seconds = $is_ok ? 1 : retry_after($head);
    if ($seconds === null || $attempt === 5) {
        $problem = json_decode($body, true);
        $code = $is_ok ? 'the connection broke' : ($problem['code'] ?? 'not the service');
        fwrite(STDERR, $code . ': ' . ($problem['detail'] ?? $head) . "\n");
        exit(1);
    }
    sleep($seconds);
}
