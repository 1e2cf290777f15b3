/**
 * The options of `check`, with and without `--each`.
 */
import type { OperatorFlags } from "../local/operator-folders.ts";
import type { OutputFlags } from "../output-options.ts";

export interface CheckFlags extends OutputFlags, OperatorFlags {
  readonly data?: string | undefined;
  readonly each?: string | undefined;
  readonly line?: number | undefined;
  readonly files?: readonly string[] | undefined;
  readonly typst?: string | undefined;
  readonly url?: string | undefined;
  readonly json?: true | undefined;
  readonly watch?: true | undefined;
  readonly open?: true | undefined;
  readonly serve?: true | undefined;
  readonly strict?: true | undefined;
}
