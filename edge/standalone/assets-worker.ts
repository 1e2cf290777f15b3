/**
 * Serves the static files where there is no Cloudflare, bound to the edge as `ASSETS`. It answers as Cloudflare does with
 * `html_handling` and `not_found_handling` set to `none`. Each form of a file is a binding, which workerd reads once.
 */

export type AssetDescription = {
  readonly contentType: string;
  /** A strong validator without its quotes. It depends on the content alone, so all edges of one build agree on it. */
  readonly entityTag: string;
  readonly encodings: string[];
};

export type AssetBindings = Readonly<Record<string, unknown>> & {
  readonly DESCRIPTIONS: Readonly<Record<string, AssetDescription>>;
};

export function assetBinding(path: string, encoding: string | null): string {
  return encoding === null ? path : `${encoding}:${path}`;
}

export default {
  fetch(request: Request, bindings: AssetBindings): Response {
    const path = new URL(request.url).pathname;
    const description = Object.hasOwn(bindings.DESCRIPTIONS, path) ? bindings.DESCRIPTIONS[path] : undefined;
    if (description === undefined) return new Response(null, { status: 404 });
    const { contentType, entityTag, encodings } = description;
    const accepted = parseAcceptedCodings(request.headers.get("Accept-Encoding"));
    const encoding = encodings.find((each) => accepted.has(each)) ?? null;
    const content = bindings[assetBinding(path, encoding)];
    if (!(content instanceof ArrayBuffer)) return new Response(null, { status: 404 });
    const headers = {
      "Cache-Control": "public, max-age=0, must-revalidate",
      "Content-Type": contentType,
      ETag: formatEntityTag(entityTag, encoding),
      ...(encodings.length > 0 && { Vary: "Accept-Encoding" }),
    };
    const tags = [null, ...encodings].map((each) => formatEntityTag(entityTag, each));
    if (isListed(tags, request.headers.get("If-None-Match"))) return new Response(null, { status: 304, headers });
    if (encoding === null) return new Response(content, { headers });
    const compressed = { headers: { ...headers, "Content-Encoding": encoding }, encodeBody: "manual" } as const;
    return new Response(content, compressed);
  },
};

function formatEntityTag(entityTag: string, encoding: string | null): string {
  return encoding === null ? `"${entityTag}"` : `"${entityTag}-${encoding}"`;
}

function parseAcceptedCodings(field: string | null): ReadonlySet<string> {
  const parts = (field ?? "").toLowerCase().split(",");
  return new Set(
    parts.filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part)).map((part) => part.replace(/;.*/, "").trim()),
  );
}

/** The weak comparison of RFC 9110, section 13.1.2. Our entity tags hold no comma. */
function isListed(entityTags: readonly string[], ifNoneMatch: string | null): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((part) => ["*", ...entityTags].includes(part.trim().replace(/^W\//, "")));
}
