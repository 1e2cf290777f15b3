/**
 * `GET /reference`: a page for people that shows the interface description, and the files that the page loads. All are
 * static. The page's content security policy restricts scripts and requests to this deployment.
 */
import { REFERENCE_PATH } from "../rules/http/routes.ts";
import type { EdgeContext } from "./context.ts";

const PAGE_HEADERS = {
  // `data:` is for the viewer's icons, `blob:` for rendered images.
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
} as const;

/** Answers with the page or one of its files. */
export async function answerReference(context: EdgeContext): Promise<Response> {
  const { path } = context.req;
  const url = new URL(path === REFERENCE_PATH ? `${REFERENCE_PATH}/index.html` : path, context.req.url);
  const asset = await context.env.ASSETS.fetch(new Request(url, context.req.raw));
  return new Response(asset.body, {
    status: asset.status,
    headers: { ...Object.fromEntries(asset.headers), ...(path === REFERENCE_PATH && PAGE_HEADERS) },
  });
}
