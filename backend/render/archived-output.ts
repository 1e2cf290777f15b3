/** The pages that Typst has written as files: checked against the limits, then packed into a ZIP. */
import { join } from "node:path";
import type { Output } from "../../rules/output-options.ts";
import { ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import { isDiskFull } from "../work-directory/disk-space.ts";
import { listOutputFiles } from "../work-directory/output-files.ts";
import { packPages } from "./archive.ts";
import { noPageWritten, noTemporarySpace, outputOverLimit, type RenderOutcome, tooManyOutputFiles } from "./outcome.ts";
import type { Spool } from "./spool.ts";
import type { TimeLimit } from "./time-limit.ts";

export interface WrittenPages {
  /** Holds nothing else; each file is named by the number of its page. */
  readonly directory: string;
  readonly wanted: Output;
  /** Reserves disk space for this many bytes of pages. */
  readonly hasRoomFor: (bytes: number) => boolean;
}

export async function archiveOutcome(
  settings: BackendSettings,
  { directory, wanted, hasRoomFor }: WrittenPages,
  archive: Spool,
  time: TimeLimit,
): Promise<RenderOutcome> {
  const { max_output_bytes: maxPageBytes, max_output_files } = settings.limits;
  const { names, areMore, bytes } = await listOutputFiles(directory, max_output_files);
  if (names.length === 0) return noPageWritten(wanted);
  if (areMore) return tooManyOutputFiles(settings);
  if (bytes > maxPageBytes) return outputOverLimit(bytes, settings);
  if (!hasRoomFor(bytes)) return noTemporarySpace();
  const pages = names.map((name) => ({ number: Number(name), path: join(directory, name) }));
  const extension = wanted.format === "png" ? "png" : "svg";
  const { result, pageBytes } = await packPages(pages, archive, { extension, maxPageBytes, signal: time.over });
  switch (result) {
    case "kept":
      return { kind: "rendered", file: { output: archive, extension: "zip" } };
    case "too-large":
      return outputOverLimit(Math.max(pageBytes, archive.size), settings);
    case "no-room":
      return noTemporarySpace();
    case "stopped":
      return time.failure();
  }
}

/** Typst only says "failed". @throws if the disk of the work directory is full. */
export async function throwIfDiskIsFull({ workDirectory }: BackendSettings): Promise<void> {
  if (await isDiskFull(workDirectory)) throw new ServiceFailure("the disk of the work directory is full");
}
