/**
 * The environment variables from which Typst's package downloader takes a proxy.
 */
export function proxyVariables(proxyUrl: string): Readonly<Record<string, string>> {
  return { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl };
}
