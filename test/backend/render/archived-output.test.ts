/** Pages as Typst has written them, checked against the limits and packed. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { archiveOutcome } from "../../../backend/render/archive.ts";
import {
  CLIENT_GONE,
  noPageWritten,
  noTemporarySpace,
  outputOverLimit,
  tooManyOutputFiles,
} from "../../../backend/render/outcome.ts";
import { Spool } from "../../../backend/render/spool.ts";
import { TimeLimit } from "../../../backend/render/time-limit.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { isDiskFull } from "../../../backend/work-directory/disk-space.ts";
import { OUTPUT_SCHEMAS, type Output } from "../../../rules/output-options.ts";
import { readZip } from "../../support/readers/zip-reader.ts";

const LIMIT = 3000;
const MAX_FILES = 3;
const SETTINGS = readBackendSettings({
  SERVICE_MAX_OUTPUT_BYTES: String(LIMIT),
  SERVICE_MAX_OUTPUT_FILES: String(MAX_FILES),
  SERVICE_WORK_DIRECTORY: tmpdir(),
});
const WANTED: Output = { format: "svg", filename: null, page: null, pages: null, archive: "zip" };

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "pages-"));
  return () => rm(directory, { recursive: true });
});

/** The outcome of pages with these contents, and its archive. */
async function outcomeOf(
  pages: readonly string[],
  { wanted = WANTED, roomBytes = LIMIT, diskBytes = LIMIT, clientGone = new AbortController().signal } = {},
) {
  for (const [index, content] of pages.entries()) await writeFile(join(directory, String(index + 1)), content);
  const memory = new ByteBudget({ maxBytes: 0, maxBytesPerRequest: 0 });
  const disk = new ByteBudget({ maxBytes: diskBytes, maxBytesPerRequest: diskBytes });
  const archive = new Spool({ directory: tmpdir(), maxOutputBytes: LIMIT, memory, disk }, "caller");
  onTestFinished(() => archive.close());
  const hasRoomFor = (bytes: number) => bytes <= roomBytes;
  const time = new TimeLimit(SETTINGS, clientGone);
  const outcome = await archiveOutcome(SETTINGS, { directory, wanted, hasRoomFor }, archive, time);
  return { outcome, archive };
}

const svgOf = (bytes: number) => "<svg></svg>".padEnd(bytes);

describe("the pages of an archive", () => {
  it.each(["svg", "png"] as const)("are packed as %s, up to the limit on files", async (format) => {
    const wanted: Output = v.parse(OUTPUT_SCHEMAS[format], { ...WANTED, format });
    const { outcome, archive } = await outcomeOf(["<svg>1", "<svg>2", "<svg>3"], { wanted });
    expect(outcome).toEqual({ kind: "rendered", file: { output: archive, extension: "zip" } });
    expect(readZip(Buffer.concat(await Array.fromAsync(archive.read()))).map(({ name }) => name)).toEqual(
      [1, 2, 3].map((number) => `page-0${number}.${format}`),
    );
  });

  it("are refused if there is one more than the limit, and if there is none", async () => {
    expect((await outcomeOf([])).outcome).toEqual(noPageWritten(WANTED));
    expect((await outcomeOf(["1", "2", "3", "4"])).outcome).toEqual(tooManyOutputFiles(SETTINGS));
  });

  it("are packed up to the limit on bytes, and refused with one more", async () => {
    expect((await outcomeOf([svgOf(LIMIT - 20), svgOf(20)])).outcome.kind).toBe("rendered");
    const { outcome } = await outcomeOf([svgOf(LIMIT - 20), svgOf(21)]);
    expect(outcome).toEqual(outputOverLimit(LIMIT + 1, SETTINGS));
  });

  it("are refused if escaping makes them too large, with the size that they would have", async () => {
    const { outcome } = await outcomeOf([`<a href="${"&".repeat(1000)}">`]);
    expect(outcome).toEqual(outputOverLimit('<a href="">'.length + 5000, SETTINGS));
  });

  it("need room for themselves and for the archive", async () => {
    expect((await outcomeOf([svgOf(500)], { roomBytes: 500 })).outcome.kind).toBe("rendered");
    expect((await outcomeOf([svgOf(500)], { roomBytes: 499 })).outcome).toEqual(noTemporarySpace());
    expect((await outcomeOf([svgOf(500)], { diskBytes: 50 })).outcome).toEqual(noTemporarySpace());
  });

  it("are not packed for a client that has left", async () => {
    const { outcome } = await outcomeOf([svgOf(500)], { clientGone: AbortSignal.abort() });
    expect(outcome).toBe(CLIENT_GONE);
  });
});

it("a disk on which nothing can be written counts as full", async () => {
  expect(await isDiskFull(tmpdir())).toBe(false);
  // Disks without a free byte or inode are in test/backend/attacks/faults.test.ts.
  expect(await isDiskFull(join(directory, "gone"))).toBe(true);
});
