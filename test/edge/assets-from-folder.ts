/** Stands in for Cloudflare's asset server, with `html_handling` and `not_found_handling` set to `none`: it serves files as they are. */

type FolderBindings = {
  readonly FILES: Readonly<Record<string, { readonly contentType: string; readonly entityTag: string }>>;
  readonly FOLDER: Fetcher;
};

export default {
  async fetch(request: Request, { FILES, FOLDER }: FolderBindings): Promise<Response> {
    const path = new URL(request.url).pathname;
    const file = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
    if (file === undefined) return new Response(null, { status: 404 });
    const ETag = `"${file.entityTag}"`;
    const headers = { "Cache-Control": "public, max-age=0, must-revalidate", "Content-Type": file.contentType, ETag };
    const tags = (request.headers.get("If-None-Match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (tags.includes(ETag) || tags.includes("*")) return new Response(null, { status: 304, headers });
    const { body } = await FOLDER.fetch(new URL(path, "http://folder"));
    return new Response(body, { headers });
  },
};
