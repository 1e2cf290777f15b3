/** The pages that Typst has written as files: checked against the limits, then packed into a ZIP. */
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Output } from "../../rules/output-options.ts";
import { outputTooLarge } from "../../rules/problem.ts";
import { ServiceFailure } from "../observe/error-log.ts";
import type { BackendSettings } from "../start/settings.ts";
import { listOutputFiles } from "../work-directory/output-files.ts";
import { packPages } from "./archive.ts";
import { noPageWritten, noTemporarySpace, notRendered, type RenderOutcome, tooManyOutputFiles } from "./outcome.ts";
import type { Spool } from "./spool.ts";
import type { TimeLimit } from "./time-limit.ts";

/** With less free space than this, the disk is assumed to be the reason that a page could not be written. */
const FULL_DISK_BYTES = 1024 * 1024;
/** The same for inodes, of which each page takes one. */
const FULL_DISK_INODES = 16;

/** The pages of one render, before they are packed. */
export interface WrittenPages {
  /** Holds nothing else; each file is named by the number of its page. */
  readonly directory: string;
  readonly wanted: Output;
  /** Reserves disk space for this many bytes of pages. */
  readonly hasRoomFor: (bytes: number) => boolean;
}

/**
 * Packs pages into `archive`.
 *
 * @throws if the machine fails.
 */
export async function archiveOutcome(
  settings: BackendSettings,
  { directory, wanted, hasRoomFor }: WrittenPages,
  archive: Spool,
  time: TimeLimit,
): Promise<RenderOutcome> {
  const { max_output_bytes, max_output_files } = settings.limits;
  const { names, areMore, bytes } = await listOutputFiles(directory, max_output_files);
  if (names.length === 0) return notRendered(noPageWritten(wanted));
  if (areMore) return notRendered(tooManyOutputFiles(settings));
  if (bytes > max_output_bytes) return notRendered(outputTooLarge(bytes, max_output_bytes));
  if (!hasRoomFor(bytes)) return notRendered(noTemporarySpace());
  const pages = names.map((name) => ({ number: Number(name), path: join(directory, name) }));
  const extension = wanted.format === "png" ? "png" : "svg";
  const { result, pageBytes } = await packPages(pages, extension, archive, max_output_bytes, time.over);
  switch (result) {
    case "kept":
      return { kind: "rendered", file: { output: archive, extension: "zip" } };
    case "too-large":
      return notRendered(outputTooLarge(Math.max(pageBytes, archive.size), max_output_bytes));
    case "no-room":
      return notRendered(noTemporarySpace());
    case "stopped":
      return notRendered(time.failure());
  }
}

/**
 * Typst only says "failed", so check whether the disk is full.
 *
 * @throws if the disk of the work directory is full.
 */
export async function throwIfDiskIsFull({ workDirectory }: BackendSettings): Promise<void> {
  const { bavail, bsize, files, ffree } = await statfs(workDirectory);
  // Some file systems make inodes as they need them and count none.
  const lacksInodes = files > 0 && ffree < FULL_DISK_INODES;
  if (lacksInodes || bavail * bsize < FULL_DISK_BYTES)
    throw new ServiceFailure("the disk of the work directory is full");
}
