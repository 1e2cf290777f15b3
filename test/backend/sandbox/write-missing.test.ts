/** Files of the work directory that running processes read: written whole, and left alone once they are there. */
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { writeMissing } from "../../../backend/sandbox/write-missing.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

it("writes what is not there, and nothing beside it", async () => {
  const folder = await makeTemporaryFolder("write-missing-test-");
  await writeMissing(join(folder, "a"), "text");
  expect(await readFile(join(folder, "a"), "utf8")).toBe("text");
  expect(await readdir(folder)).toEqual(["a"]);
});

it("never writes over what is there", async () => {
  const folder = await makeTemporaryFolder("write-missing-test-");
  await writeMissing(join(folder, "a"), "first");
  await writeMissing(join(folder, "a"), "second");
  expect(await readFile(join(folder, "a"), "utf8")).toBe("first");
});

it("is not kept from it by a part that an earlier attempt has left", async () => {
  const folder = await makeTemporaryFolder("write-missing-test-");
  await writeFile(join(folder, "a.part"), "te");
  await chmod(join(folder, "a.part"), 0o555);
  await writeMissing(join(folder, "a"), "text");
  expect(await readFile(join(folder, "a"), "utf8")).toBe("text");
  expect(await readdir(folder)).toEqual(["a"]);
});

it("fails where nothing can be written", async () => {
  await expect(writeMissing("/nonexistent/a", "text")).rejects.toThrow("ENOENT");
});
