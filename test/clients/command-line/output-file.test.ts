/** What is left of a run that was killed, and what another run is writing. */
import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeWhole } from "../../../clients/command-line/output-file.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const DAY_SECONDS = 24 * 60 * 60;

it("removes what a run has left that wrote nothing for a day, and nothing younger or of another name", async () => {
  const folder = await makeTemporaryFolder("output-");
  const now = Date.now() / 1000;
  const left = [
    [".old.pdf.0123456789ab.part", DAY_SECONDS + 60],
    [".young.pdf.0123456789ab.part", DAY_SECONDS - 60],
    ["old.part", DAY_SECONDS + 60],
  ] as const;
  for (const [name, ageSeconds] of left) {
    await writeFile(join(folder, name), "%PDF-");
    await utimes(join(folder, name), now - ageSeconds, now - ageSeconds);
  }
  await writeWhole(join(folder, "new.pdf"), Buffer.from("new"));
  expect((await readdir(folder)).toSorted()).toEqual([".young.pdf.0123456789ab.part", "new.pdf", "old.part"]);
});
