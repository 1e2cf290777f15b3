/** What the page and the worker of its compiler say to each other. */

/** What is compiled. */
export interface CompilerProject {
  readonly source: string;
  /** JSON. */
  readonly data: string;
  readonly files: readonly { readonly key: string; readonly bytes: Uint8Array }[];
  /** The standards that the output is to follow, such as `ua-1`. */
  readonly standards: readonly string[];
}

export interface CompileRequest {
  readonly id: number;
  readonly project: CompilerProject;
}

/** A mistake in a text of the project. */
export interface CompilerFinding {
  /** The key of the file; null for the template. */
  readonly key: string | null;
  /** Counts from one. */
  readonly line: number;
  /** Offsets in UTF-16 code units, where each line end is one. */
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export type CompilerMessage =
  | "ready"
  | {
      readonly id: number;
      readonly findings: readonly CompilerFinding[];
      /** The compiler has taken so much memory that another one should take its place. */
      readonly isSpent: boolean;
    };
