/**
 * The options of `render`, with and without `--each`.
 */
import type { EInvoiceFlags } from "../e-invoice.ts";
import type { OutputFlags } from "../output-options.ts";
import type { ServiceOptions } from "../service-location.ts";

export interface RenderFlags extends OutputFlags, EInvoiceFlags, ServiceOptions {
  readonly data?: string | undefined;
  readonly files?: readonly string[] | undefined;
  readonly json?: true | undefined;
  readonly strict?: true | undefined;
  readonly each?: string | undefined;
  readonly line?: number | undefined;
  /** In seconds. */
  readonly timeout?: number | undefined;
  readonly verbose?: true | undefined;
  readonly dryRun?: true | undefined;
  readonly jobs?: number | undefined;
  readonly overwrite?: true | undefined;
}

/** With `--each`: the most requests at the same time. */
export const DEFAULT_JOBS = 8;
