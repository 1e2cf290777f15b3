/**
 * The environment variables of Typst.
 */

/**
 * The whole environment of a render. Variables such as TYPST_FONT_PATHS or SOURCE_DATE_EPOCH change what Typst does, so
 * none are inherited from the host. Times are in UTC.
 */
export const RENDER_ENVIRONMENT = { TZ: "UTC" } as const;

/** The variables from which Typst's package downloader takes a proxy. */
export function proxyVariables(proxyUrl: string): Readonly<Record<string, string>> {
  return { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl };
}

/**
 * The environment without a sandbox: only a proxy that refuses every connection then prevents Typst from fetching packages.
 */
export const UNCONFINED_ENVIRONMENT = { ...RENDER_ENVIRONMENT, ...proxyVariables("http://127.0.0.1:9") } as const;
