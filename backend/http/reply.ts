/**
 * The last step of a render request: send the file or a problem, or close the connection of a client that has gone.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { NOT_STORED_HEADERS } from "../../rules/http/headers.ts";
import type { RequestEnd } from "../metrics.ts";
import { CLIENT_GONE, type Extension, type RenderOutcome } from "../render/outcome.ts";
import type { Deliveries } from "./delivery.ts";
import { contentDisposition } from "./file-name.ts";
import { sendProblem } from "./problem-response.ts";
import { drainBody } from "./read-body.ts";

const CONTENT_TYPES = {
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  zip: "application/zip",
} as const satisfies Record<Extension, string>;

/** An SVG opened on its own runs nothing and loads nothing, whatever the document has put into it. */
const SVG_HEADERS = {
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox",
} as const;

/**
 * Answers a request. A file is delivered when this resolves, or its delivery has failed; its output is closed.
 *
 * @param suggestedName the file name that the request asks for, or null.
 */
export async function sendReply(
  request: FastifyRequest,
  reply: FastifyReply,
  outcome: RenderOutcome,
  suggestedName: string | null,
  deliveries: Deliveries,
): Promise<RequestEnd> {
  switch (outcome.kind) {
    case CLIENT_GONE:
      reply.hijack();
      reply.raw.destroy();
      return { outcome: "client_gone", delivery: null };
    case "refused":
      if (!(await drainBody(request.raw))) reply.header("Connection", "close");
      sendProblem(request, reply, outcome.problem);
      return { outcome: outcome.problem.code, delivery: null };
    case "rendered": {
      const { output, extension } = outcome.file;
      try {
        reply.headers(fileHeaders(extension, suggestedName));
        const delivery = await deliveries.deliver(reply, output);
        return { outcome: delivery.end === "delivered" ? "ok" : "client_gone", delivery };
      } finally {
        await output.close();
      }
    }
  }
}

function fileHeaders(extension: Extension, suggestedName: string | null) {
  return {
    ...NOT_STORED_HEADERS,
    ...(extension === "svg" && SVG_HEADERS),
    "Content-Type": CONTENT_TYPES[extension],
    "Content-Disposition": contentDisposition(suggestedName, extension),
  };
}
