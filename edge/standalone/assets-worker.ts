/**
 * A Worker that serves the static files where there is no Cloudflare: `npm run build:edge` binds it to the edge as `ASSETS`.
 * It answers as Cloudflare's asset server does with `html_handling` and `not_found_handling` set to `none`.
 *
 * Each file is a binding, named by its path. workerd reads the files once, from the folder of its configuration.
 */

/** What the build knows about a file. */
export interface AssetDescription {
  readonly contentType: string;
  /** A strong validator with its quotes. It depends on the content alone, so all edges of one build agree on it. */
  readonly entityTag: string;
}

export type AssetBindings = Readonly<Record<string, unknown>> & {
  readonly DESCRIPTIONS: Readonly<Record<string, AssetDescription>>;
};

export default {
  fetch(request: Request, bindings: AssetBindings): Response {
    const path = new URL(request.url).pathname;
    const description = Object.hasOwn(bindings.DESCRIPTIONS, path) ? bindings.DESCRIPTIONS[path] : undefined;
    const content = bindings[path];
    if (description === undefined || !(content instanceof ArrayBuffer)) return new Response(null, { status: 404 });
    const headers = {
      "Cache-Control": "public, max-age=0, must-revalidate",
      "Content-Type": description.contentType,
      ETag: description.entityTag,
    };
    if (isListed(description.entityTag, request.headers.get("If-None-Match"))) {
      return new Response(null, { status: 304, headers });
    }
    return new Response(content, { headers });
  },
};

/** The weak comparison of RFC 9110, section 13.1.2. Our entity tags hold no comma. */
function isListed(entityTag: string, ifNoneMatch: string | null): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((part) => ["*", entityTag].includes(part.trim().replace(/^W\//, "")));
}
