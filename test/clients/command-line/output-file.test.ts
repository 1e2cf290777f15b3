/** What writers do to each other's files, in one process and in containers that share a folder. */
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa, execaSync } from "execa";
import { expect, it } from "vitest";
import { writeWhole } from "../../../clients/command-line/output-file.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

const MODULE = fileURLToPath(new URL("../../../clients/command-line/output-file.ts", import.meta.url));
const WRITE_QUICK = `const { writeWhole } = await import(${JSON.stringify(MODULE)}); await writeWhole("quick.pdf", Buffer.from("quick"));`;
/** Processes of its own, and the host name of the machine, as in a container on its network. */
const CONTAINER = ["unshare", "--user", "--map-current-user", "--pid", "--fork", "--"] as const;

/** Begins to write a file of two parts into `made`. What it returns writes the second. */
async function beginToWrite() {
  const folder = join(await makeTemporaryFolder("output-"), "made");
  await mkdir(folder);
  const { promise: isAwaited, resolve: goOn } = Promise.withResolvers<void>();
  async function* bytes() {
    yield Buffer.from("one");
    await isAwaited;
    yield Buffer.from(" two");
  }
  const writing = writeWhole(join(folder, "slow.pdf"), bytes());
  await expect.poll(() => readdir(folder)).toHaveLength(1);
  const end = async () => {
    goOn();
    expect(await writing).toBe(7);
    expect(await readFile(join(folder, "slow.pdf"), "utf8")).toBe("one two");
    expect((await readdir(folder)).toSorted()).toEqual(["quick.pdf", "slow.pdf"]);
  };
  return { folder, end };
}

it("a file that is being written is not taken for an abandoned one when its folder is found under another path", async () => {
  const { folder, end } = await beginToWrite();
  await symlink("made", `${folder}-linked`);
  await writeWhole(join(`${folder}-linked`, "quick.pdf"), Buffer.from("quick"));
  await end();
});

const [program, ...options] = CONTAINER;
const canUnshare = !execaSync(program, [...options, "true"], { reject: false }).failed;

it.skipIf(!canUnshare)("nor by a container of the same name (skipped without user namespaces)", async () => {
  const { folder, end } = await beginToWrite();
  await execa(program, [...options, process.execPath, "--input-type=module", "-e", WRITE_QUICK], { cwd: folder });
  await end();
});
