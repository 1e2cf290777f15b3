/** A Worker that answers with a document, by hono and nothing else. */
import { Hono } from "hono";

interface Bindings {
  readonly DOCUMENT: ArrayBuffer;
}

const app = new Hono<{ Bindings: Bindings }>();
const headers = { "Content-Type": "application/json", ETag: '"0"', "Cache-Control": "private, no-cache" };
app.get("/v1/constraints", ({ env }) => new Response(env.DOCUMENT, { headers }));

export default app;
