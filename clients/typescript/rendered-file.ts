/** The answer to a successful render: the file, with what its headers say of it. */
import { parse as parseDisposition } from "content-disposition";
import { DEFAULT_STEM, FILE_MEDIA_TYPES, type FileExtension, fileExtensionOf } from "../../protocol/file-types.ts";
import { REQUEST_ID_HEADER } from "../../protocol/headers.ts";
import { PassingFile } from "../../protocol/whole-file.ts";
import { makeBrokenTransferError, UnexpectedResponseError } from "./errors.ts";
import { joinBytes } from "./join-bytes.ts";
import type { SilenceWatch } from "./silence.ts";
import { mediaType } from "./transport.ts";

/**
 * Up to this many bytes are received before the file is given out, so that a connection that breaks is noticed while the request can
 * be sent again: more than a file has by default. The rest of a larger file comes as it is read.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;

export type RenderedContentType = (typeof FILE_MEDIA_TYPES)[FileExtension];

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
   * The file. Read either this or `bytes()`, once. Of more than 64 MiB, the rest comes as it is read: then it ends with
   * `ServiceUnreachableError` when the connection breaks, the file ends without its end or nothing comes for too long, with
   * `UnexpectedResponseError` after `maxBytes`, and with the signal's reason when the render is aborted.
   */
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** The whole file. @throws what ends `body` */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
}

type Chunk = Uint8Array<ArrayBuffer>;

/**
 * Reads the file, or the beginning of a large one.
 *
 * @throws UnexpectedResponseError if it is no file, or too large
 * @throws ServiceUnreachableError if it breaks off
 */
export async function readRenderedFile(
  response: Response,
  url: URL,
  maxBytes: number,
  silence: SilenceWatch,
  signal: AbortSignal | undefined,
): Promise<RenderedFile> {
  const { headers, status } = response;
  const reader: ReadableStreamDefaultReader<Chunk> | undefined = response.body?.getReader();
  const sizeBytes = announcedSize(headers);
  const tooLarge = `The response has more than ${maxBytes} bytes, the most that a file of the service may have.`;
  let readBytes = 0;
  function refuse(message: string): never {
    reader?.cancel().catch(() => {});
    throw new UnexpectedResponseError(message, status);
  }
  const extension = fileExtensionOf(mediaType(headers));
  if (extension === null) return refuse("The response is not a rendered file.");
  const contentType = FILE_MEDIA_TYPES[extension];
  const file = new PassingFile(extension);
  const receive = async (): Promise<Chunk | null> => {
    const reading = reader && silence.during(reader.read());
    const chunk = await reading?.catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw makeBrokenTransferError(url, cause);
    });
    if (chunk?.value === undefined) {
      if (!file.isWhole) throw makeBrokenTransferError(url);
      return null;
    }
    readBytes += chunk.value.length;
    if (readBytes > maxBytes) return refuse(tooLarge);
    file.add(chunk.value);
    if (file.hasBegun === false) return refuse(`The response says that it is ${contentType}, and is not.`);
    return chunk.value;
  };
  if (sizeBytes !== null && sizeBytes > maxBytes) return refuse(tooLarge);
  const held: Chunk[] = [];
  let isComplete = false;
  while (!isComplete && readBytes < MAX_HELD_BYTES) {
    const chunk = await receive();
    if (chunk === null) isComplete = true;
    else held.push(chunk);
  }
  const next = async () => held.shift() ?? (isComplete ? null : await receive());
  let isTaken = false;
  const pull = async (controller: ReadableStreamDefaultController<Chunk>) => {
    isTaken = true;
    const chunk = await next();
    if (chunk === null) controller.close();
    else controller.enqueue(chunk);
  };
  const cancel = (reason: unknown) => reader?.cancel(reason);
  const body = new ReadableStream<Chunk>({ pull, cancel }, { highWaterMark: 0 });
  const bytes = async () => {
    if (isTaken || body.locked) throw new TypeError("The body has already been read.");
    isTaken = true;
    const chunks: Chunk[] = [];
    for (let chunk = await next(); chunk !== null; chunk = await next()) chunks.push(chunk);
    return joinBytes(chunks);
  };
  const filename = fileName(headers.get("Content-Disposition")) ?? `${DEFAULT_STEM}.${extension}`;
  const requestId = headers.get(REQUEST_ID_HEADER);
  return { ok: true, contentType, filename, sizeBytes, maxBytes, requestId, body, bytes };
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
