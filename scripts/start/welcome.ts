/** What a person needs for a first document, once the service is ready: a link, and a command line. */
export function welcome(origin: string, token: string): string {
  return [
    `The service is ready at ${origin} (Ctrl-C stops it). In a browser, with the token, which the page keeps in its tab:`,
    "",
    `${origin}/#token=${encodeURIComponent(token)}`,
    "",
    "A first document by the command line:",
    "",
    `curl --fail-with-body -o hello.pdf ${origin}/v1/render -H 'X-Service-Api-Token: ${token}' -H 'Content-Type: application/json' -d '{"source": "= Hello, #data.name!", "data": {"name": "world"}}'`,
    "",
    "",
  ].join("\n");
}
