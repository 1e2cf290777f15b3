/** The TypeScript client of the service (docs/client.md): what programs import. */
export type { PublishedConstraints } from "../../rules/published-rules.ts";
export type { UnreachableReason } from "./connection-faults.ts";
export type { ConstraintsStore, StoredConstraints } from "./constraints-cache.ts";
export { ServiceUnreachableError, UnexpectedResponseError } from "./errors.ts";
export type { LocalCheck } from "./local-check.ts";
export {
  binaryFile,
  type JsonText,
  jsonText,
  type OutputOptions,
  type PdfOptions,
  type PdfStandard,
  type PdfStandards,
  type PdfVersion,
  type PngOptions,
  type RenderRequest,
  type RequestFile,
  type SvgOptions,
  textFile,
} from "./render-request.ts";
export type { RenderedContentType, RenderedFile } from "./rendered-file.ts";
export type { RetryEvent, RetryOptions } from "./retry.ts";
export {
  type CallOptions,
  type CheckResult,
  type ConstraintsResult,
  type RejectedRender,
  type RenderResult,
  ServiceClient,
  type ServiceClientOptions,
} from "./service-client.ts";
export type { ServiceProblem } from "./service-problem.ts";
export type { SilenceEvent } from "./silence.ts";
export type { Fetch } from "./transport.ts";
