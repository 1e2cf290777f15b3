/**
 * A minimal Worker with which the edge is compared. `/v1/constraints` is a bare Hono route that returns the same bytes;
 * `/forward` forwards a body to the backend that the query names, and returns its answer.
 */
import { Hono } from "hono";
import { constraintsDocument } from "../rules/constraints.ts";
import { DEFAULT_LIMITS } from "../rules/limits.ts";

const document = new TextEncoder().encode(JSON.stringify(constraintsDocument(DEFAULT_LIMITS)));
const app = new Hono();

app.get("/v1/constraints", () => new Response(document, { headers: { "Content-Type": "application/json" } }));

export default {
  fetch(request: Request): Response | Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname !== "/forward") return app.fetch(request);
    return fetch(url.searchParams.get("to") ?? "", { method: "POST", body: request.body, headers: request.headers });
  },
};
