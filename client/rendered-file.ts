/**
 * The answer to a successful render: the file, with what its headers say of it.
 */
import { parse as parseDisposition } from "content-disposition";
import { REQUEST_ID_HEADER } from "../protocol/headers.ts";
import { ServiceUnreachableError } from "./errors.ts";
import { mediaType } from "./transport.ts";

const EXTENSIONS = {
  "application/pdf": "pdf",
  "image/png": "png",
  "image/svg+xml": "svg",
  "application/zip": "zip",
} as const;

export type RenderedContentType = keyof typeof EXTENSIONS;

export interface RenderedFile {
  readonly ok: true;
  readonly contentType: RenderedContentType;
  /** A name without folders. `document` with its extension if a browser hides the header of another origin. */
  readonly filename: string;
  /** The size that the service announced; null if it is hidden or unknown. */
  readonly sizeBytes: number | null;
  /** By which the operator finds the request in the logs; null if a browser hides the header of another origin. */
  readonly requestId: string | null;
  /** The file as it arrives. Read either this or `bytes()`, once. */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The whole file.
   *
   * @throws ServiceUnreachableError when the connection breaks, the signal's reason when the render is aborted
   */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
}

/** A response as a rendered file, or null if it is not one. */
export function asRenderedFile(response: Response, signal: AbortSignal | undefined): RenderedFile | null {
  const { headers, body } = response;
  const contentType = mediaType(headers);
  if (body === null || !isRendered(contentType)) return null;
  const length = headers.get("Content-Length");
  return {
    ok: true,
    contentType,
    filename: fileName(headers.get("Content-Disposition")) ?? `document.${EXTENSIONS[contentType]}`,
    sizeBytes: length === null ? null : Number(length),
    requestId: headers.get(REQUEST_ID_HEADER),
    body,
    bytes: async () => {
      // Before the try: reading a body twice is a mistake of the caller, and fetch's own error says so.
      if (response.bodyUsed) throw new TypeError("The body has already been read.");
      try {
        return new Uint8Array(await response.arrayBuffer());
      } catch (cause) {
        signal?.throwIfAborted();
        throw new ServiceUnreachableError("The connection broke before the whole file had arrived.", { cause });
      }
    },
  };
}

/** The name in a `Content-Disposition` field, without the folders that a recipient must ignore (RFC 6266 section 4.3). */
function fileName(disposition: string | null): string | null {
  const name = parseDisposition(disposition ?? "").parameters.filename ?? "";
  const lastSegment = name.split(/[/\\]/).at(-1) ?? "";
  return /^\.{0,2}$/.test(lastSegment) ? null : lastSegment;
}

function isRendered(contentType: string): contentType is RenderedContentType {
  return Object.hasOwn(EXTENSIONS, contentType);
}
