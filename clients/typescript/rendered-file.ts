/** The answer to a successful render: the file, with what its headers say of it. */
import { parse as parseDisposition } from "content-disposition";
import { REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import { brokenOff, UnexpectedResponseError } from "./errors.ts";
import { joinBytes } from "./join-bytes.ts";
import { mediaType } from "./transport.ts";

/** Each type of file: its extension, and how a file of it may begin, read as Latin-1. */
const TYPES = {
  "application/pdf": { extension: "pdf", beginnings: ["%PDF-"] },
  "image/png": { extension: "png", beginnings: ["\x89PNG\r\n\x1a\n"] },
  "image/svg+xml": { extension: "svg", beginnings: ["<svg", "<?xml"] },
  "application/zip": { extension: "zip", beginnings: ["PK\x03\x04", "PK\x05\x06"] },
} as const;
/** The longest of the beginnings. */
const MAX_BEGINNING_BYTES = 8;

export type RenderedContentType = keyof typeof TYPES;

export interface RenderedFile {
  readonly ok: true;
  readonly contentType: RenderedContentType;
  /** A name without folders. `document` with its extension if a browser hides the header of another origin. */
  readonly filename: string;
  /** The size that the service announced; null if it is hidden or unknown. */
  readonly sizeBytes: number | null;
  /** Of this file, and of the files of an archive together: `max_output_bytes` of the deployment. */
  readonly maxBytes: number;
  /** By which the operator finds the request in the logs; null if a browser hides the header of another origin. */
  readonly requestId: string | null;
  /**
   * The file as it arrives. Read either this or `bytes()`, once. It ends with `ServiceUnreachableError` when the
   * connection breaks, with `UnexpectedResponseError` after `maxBytes`, and with the signal's reason when the render is
   * aborted.
   */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The whole file. @throws what ends `body` */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
}

/** Reads no further than the first bytes. @throws UnexpectedResponseError if it is no file, or too large */
export async function readRenderedFile(
  response: Response,
  url: URL,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<RenderedFile> {
  const { headers } = response;
  const contentType = mediaType(headers);
  const sizeBytes = announcedSize(headers);
  const received = new ReceivedBody(response, url, maxBytes, signal);
  if (!isRendered(contentType)) return received.refuse("The response is not a rendered file.");
  if (sizeBytes !== null && sizeBytes > maxBytes) return received.refuse(tooLarge(maxBytes));
  const { extension, beginnings } = TYPES[contentType];
  if (!(await received.beginsWith(beginnings)))
    return received.refuse(`The response says that it is ${contentType}, and is not.`);
  const body = received.stream();
  return {
    ok: true,
    contentType,
    filename: fileName(headers.get("Content-Disposition")) ?? `document.${extension}`,
    sizeBytes,
    maxBytes,
    requestId: headers.get(REQUEST_ID_HEADER),
    body,
    bytes: async () => {
      // A mistake of the caller.
      if (received.isTaken || body.locked) throw new TypeError("The body has already been read.");
      return received.readAll();
    },
  };
}

function tooLarge(maxBytes: number): string {
  return `The response has more than ${maxBytes} bytes, the most that a file of the service may have.`;
}

/** The body of a response, of which only a bounded part is read. */
class ReceivedBody {
  readonly #url: URL;
  readonly #status: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  /** What has been read to see how the file begins. */
  readonly #start: Uint8Array<ArrayBuffer>[] = [];
  #readBytes = 0;
  /** Whether somebody has begun to read what is after the start. */
  isTaken = false;

  constructor({ body, status }: Response, url: URL, maxBytes: number, signal: AbortSignal | undefined) {
    this.#url = url;
    this.#status = status;
    this.#reader = body?.getReader();
    this.#maxBytes = maxBytes;
    this.#signal = signal;
  }

  /** Ends the transfer. @throws UnexpectedResponseError */
  refuse(message: string): never {
    this.#reader?.cancel().catch(() => {});
    throw new UnexpectedResponseError(message, this.#status);
  }

  /** Whether it begins with one of these, in Latin-1. Reads no further than is needed to know. */
  async beginsWith(beginnings: readonly string[]): Promise<boolean> {
    let text = "";
    const isFound = () => beginnings.some((beginning) => text.startsWith(beginning));
    while (!isFound() && text.length < MAX_BEGINNING_BYTES) {
      const chunk = await this.#read();
      if (chunk === null) return false;
      this.#start.push(chunk);
      text += String.fromCharCode(...chunk.subarray(0, MAX_BEGINNING_BYTES));
    }
    return isFound();
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull: async (controller) => {
          this.isTaken = true;
          const chunk = await this.#next();
          if (chunk === null) controller.close();
          else controller.enqueue(chunk);
        },
        cancel: (reason) => this.#reader?.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  async readAll(): Promise<Uint8Array<ArrayBuffer>> {
    this.isTaken = true;
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    for (let chunk = await this.#next(); chunk !== null; chunk = await this.#next()) chunks.push(chunk);
    return joinBytes(chunks);
  }

  async #next(): Promise<Uint8Array<ArrayBuffer> | null> {
    return this.#start.shift() ?? (await this.#read());
  }

  /** The next part; null at the end. */
  async #read(): Promise<Uint8Array<ArrayBuffer> | null> {
    const value = await this.#received();
    this.#readBytes += value?.length ?? 0;
    return this.#readBytes > this.#maxBytes ? this.refuse(tooLarge(this.#maxBytes)) : value;
  }

  async #received(): Promise<Uint8Array<ArrayBuffer> | null> {
    try {
      return (await this.#reader?.read())?.value ?? null;
    } catch (cause) {
      this.#signal?.throwIfAborted();
      throw brokenOff(this.#url, cause);
    }
  }
}

/** Null if the length is that of a compressed transfer, or hidden. */
function announcedSize(headers: Headers): number | null {
  const length = headers.get("Content-Length");
  return length === null || headers.has("Content-Encoding") || !/^[0-9]+$/.test(length) ? null : Number(length);
}

/** The name without folders, which a recipient must ignore (RFC 6266 section 4.3). */
function fileName(disposition: string | null): string | null {
  const name = parseDisposition(disposition ?? "").parameters.filename ?? "";
  const lastSegment = name.split(/[/\\]/).at(-1) ?? "";
  return /^\.{0,2}$|\p{Cc}/u.test(lastSegment) ? null : lastSegment;
}

function isRendered(contentType: string): contentType is RenderedContentType {
  return Object.hasOwn(TYPES, contentType);
}
