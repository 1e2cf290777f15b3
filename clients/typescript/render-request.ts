/**
 * A render request as TypeScript checks it: a misspelled field, an option of another format and an unknown standard do
 * not compile. docs/api.md#render-request says what each field means.
 *
 * Fields that may be absent may also be `undefined`, and those of `output` may be `null` if the service says so.
 */
import { writeJsonText } from "../../rules/json/json-text.ts";
import type { PdfStandard, PdfVersion } from "../../rules/pdf-standards.ts";

export type { PdfStandard, PdfVersion };

type PdfAStandard = Exclude<PdfStandard, "ua-1">;

/** One PDF/A profile, `ua-1`, or both; none by default. */
export type PdfStandards =
  | readonly []
  | readonly [PdfStandard]
  | readonly [PdfAStandard, "ua-1"]
  | readonly ["ua-1", PdfAStandard];

/** The body of `POST /v1/render`. */
export interface RenderRequest {
  /** Typst source, the entry point of the project. Not empty. */
  readonly source: string;
  /** Other files, each by its path with `/` relative to the root of the project: see `textFile`, `binaryFile`. */
  readonly files?: Readonly<Record<string, RequestFile>> | undefined;
  /**
   * What the source gets as `data`: anything that `JSON.stringify` serialises, so `Date` becomes a string. NaN and
   * infinite numbers are refused, by a `TypeError` that names their place. `jsonText` sends JSON text unchanged, if numbers need digits beyond 2^53.
   */
  readonly data?: object | string | number | boolean | null | undefined;
  /** What to make; a PDF when absent. */
  readonly output?: OutputOptions | undefined;
}

/** An entry of `files`. */
export interface RequestFile {
  readonly encoding: "text" | "base64";
  /** Unicode text, or Base64 (RFC 4648 section 4, padded, without line breaks). */
  readonly content: string;
}

export type OutputOptions = PdfOptions | PngOptions | SvgOptions;

interface NamedOutput {
  /** The suggested file name; the service makes it safe and corrects its extension. Default: `document`. */
  readonly filename?: string | null | undefined;
}

export interface PdfOptions extends NamedOutput {
  readonly format?: "pdf" | undefined;
  /** Default: 1.7, or the version that a standard requires. */
  readonly version?: PdfVersion | null | undefined;
  readonly standards?: PdfStandards | undefined;
  /** Physical pages, such as `1,3-5,8-`. Default: all. */
  readonly pages?: string | null | undefined;
}

interface ImageOptions extends NamedOutput {
  /** The physical page of a single image, from 1. Only without `archive`. */
  readonly page?: number | null | undefined;
  /** Physical pages, such as `1,3-5,8-`. Only with `archive`. Default: all. */
  readonly pages?: string | null | undefined;
  /** A ZIP with one image per page. Without it, the output is a single image. */
  readonly archive?: "zip" | null | undefined;
}

export interface PngOptions extends ImageOptions {
  readonly format: "png";
  /** Pixels per inch, from 1 to 300. Default: 144. */
  readonly ppi?: number | undefined;
}

export interface SvgOptions extends ImageOptions {
  readonly format: "svg";
}

/** JSON text that is sent as `data` unchanged: see `jsonText`. */
export class JsonText {
  readonly text: string;

  /** @throws SyntaxError when `text` is not JSON, which would otherwise become part of the request around it */
  constructor(text: string) {
    JSON.parse(text);
    this.text = text;
  }

  /** Called by `JSON.stringify` if this is not `data` itself but a part of it. */
  toJSON(): never {
    throw new TypeError("jsonText must be all of data, not a part of it.");
  }
}

/** `data` as JSON text, sent unchanged: large integers keep their digits. @throws SyntaxError if it is not JSON */
export function jsonText(text: string): JsonText {
  return new JsonText(text);
}

/** A text file of the project. */
export function textFile(text: string): RequestFile {
  return { encoding: "text", content: text };
}

/** A binary file of the project, such as an image or a font. */
export function binaryFile(bytes: Uint8Array | ArrayBuffer): RequestFile {
  return { encoding: "base64", content: base64(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)) };
}

/** @throws TypeError for what JSON does not have, such as NaN, with its place */
export function encodeRequest(request: RenderRequest): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(serialise(request));
}

function serialise(request: RenderRequest): string {
  const { data, ...others } = request;
  if (!(data instanceof JsonText)) return writeJsonText(request);
  const rest = writeJsonText(others).slice(1);
  return `{"data":${data.text}${rest === "}" ? "" : ","}${rest}`;
}

/** A multiple of three, so that the pieces join without padding, and few enough for the arguments of one call. */
const BASE64_CHUNK_BYTES = 3 * 8192;

interface Base64Source {
  toBase64(): string;
}

/** Node has `Uint8Array.prototype.toBase64` since 25, and it takes a fraction of the time. */
function isBase64Source(bytes: object): bytes is Base64Source {
  return "toBase64" in bytes;
}

function base64(bytes: Uint8Array): string {
  const source: object = bytes;
  if (isBase64Source(source)) return source.toBase64();
  let text = "";
  for (let start = 0; start < bytes.length; start += BASE64_CHUNK_BYTES) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + BASE64_CHUNK_BYTES)));
  }
  return text;
}
