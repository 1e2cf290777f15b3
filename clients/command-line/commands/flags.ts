/**
 * The options of `check` and `render`, with and without `--each`.
 */
import type { EInvoiceFlags } from "../e-invoice.ts";
import type { OperatorFlags } from "../local/operator-folders.ts";
import type { OutputFlags } from "../output-options.ts";
import type { ServiceOptions } from "../service-location.ts";

interface ProjectFlags extends OutputFlags {
  readonly data?: string | undefined;
  readonly each?: string | undefined;
  readonly line?: number | undefined;
  readonly files?: readonly string[] | undefined;
  readonly json?: true | undefined;
  readonly strict?: true | undefined;
}

export interface CheckFlags extends ProjectFlags, OperatorFlags {
  readonly typst?: string | undefined;
  readonly url?: string | undefined;
  readonly watch?: true | undefined;
  readonly open?: true | undefined;
}

export interface RenderFlags extends ProjectFlags, EInvoiceFlags, ServiceOptions {
  /** In seconds. */
  readonly timeout?: number | undefined;
  readonly verbose?: true | undefined;
  readonly dryRun?: true | undefined;
  readonly jobs?: number | undefined;
  readonly overwrite?: true | undefined;
}

/** With `--each`: the most requests at the same time. */
export const DEFAULT_JOBS = 8;
