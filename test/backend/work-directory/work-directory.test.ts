/** The work directory: its contents while a render runs, and that no render leaves anything in it, however it ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fileSystem, { chmod, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { Launcher } from "../../../backend/launcher/launcher.ts";
import { readBackendSettings } from "../../../backend/settings.ts";
import { prepareWorkDirectory } from "../../../backend/work-directory/claim.ts";
import { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { makeFakeTypst, waitFor } from "../../support/backend/fake-typst.ts";
import { startTemporaryBackend } from "../../support/backend/test-backend.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";

/** Names of renders of this version, and of the one before it. */
const CRASHED = "3f1c2a84-5d0e-4b7a-9c11-0a2b3c4d5e6f";

it("the work directory holds one directory per render, which no other user can read", async () => {
  const typst = await makeFakeTypst(`cat > /dev/null; echo > "$here/started"; ${waitFor("go")}; printf done`);
  const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path });
  const answer = backend.render({ source: "x" });
  await expect.poll(() => typst.read("started")).not.toBeNull();
  const projects = await backend.projects();
  expect(projects).toHaveLength(1);
  const { mode } = await stat(join(backend.workDirectory, projects[0] ?? ""));
  expect(mode & 0o077).toBe(0);
  await typst.signal("go");
  expect((await answer).status).toBe(200);
});

it("the work directory is emptied at start without following links out of it", async () => {
  const folder = await makeTemporaryFolder("work-directory-test-");
  const workDirectory = join(folder, "work");
  const outside = join(folder, "outside");
  await mkdir(join(workDirectory, `render-${CRASHED}`, "project"), { recursive: true });
  await chmod(workDirectory, 0o755);
  await writeFile(join(workDirectory, `render-${CRASHED}`, "project", "x"), "x");
  await mkdir(outside);
  await writeFile(join(outside, "precious"), "x");
  await symlink(outside, join(workDirectory, "fifos"));
  await prepareWorkDirectory(workDirectory);
  expect(await readdir(workDirectory)).toEqual(["claim"]);
  expect(await readdir(outside)).toEqual(["precious"]);
  // It was there before, open to everyone.
  expect((await stat(workDirectory)).mode & 0o777).toBe(0o700);
});

it.each(["report.docx", ".bashrc", "render-notes.txt", "output-2026", "claims", "spool-a"])(
  "a directory that holds %s is no work directory: nothing in it is removed, and its mode stays",
  async (name) => {
    const folder = await makeTemporaryFolder("work-directory-test-");
    await chmod(folder, 0o755);
    await mkdir(join(folder, `render-${CRASHED}`));
    await writeFile(join(folder, name), "precious");
    await expect(prepareWorkDirectory(folder)).rejects.toThrow(
      `holds what the service has not made: ${JSON.stringify(name)}. Set SERVICE_WORK_DIRECTORY`,
    );
    expect((await readdir(folder)).toSorted()).toEqual([`render-${CRASHED}`, name].toSorted());
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
  },
);

it("a claim that was not given up says that the backend before was killed", async () => {
  const folder = await makeTemporaryFolder("work-directory-test-");
  await writeFile(join(folder, "claim"), "");
  const found: boolean[] = [];
  for (let starts = 0; starts < 2; starts++) {
    const claim = await prepareWorkDirectory(folder);
    found.push(claim.followsCrash);
    await claim.release();
  }
  expect(found).toEqual([true, false]);
  // A stop while it starts.
  (await prepareWorkDirectory(folder)).abandon();
  expect((await prepareWorkDirectory(folder)).followsCrash).toBe(false);
});

it.each(["render-a1B2c3", "output-a1B2c3", `kept-${CRASHED}`, `spool-${CRASHED}`, "seccomp.bpf", "streams"])(
  "what a crash of this version or an older one has left is removed: %s",
  async (name) => {
    const folder = await makeTemporaryFolder("work-directory-test-");
    await writeFile(join(folder, name), "");
    const claim = await prepareWorkDirectory(folder);
    expect(await readdir(folder)).toEqual(["claim"]);
    await claim.release();
    expect(await readdir(folder)).toEqual([]);
  },
);

it("the claim of a work directory is given up only when the directory is empty", async () => {
  const workDirectory = await makeTemporaryFolder("work-directory-test-");
  const claim = await prepareWorkDirectory(workDirectory);
  await mkdir(join(workDirectory, `render-${CRASHED}`));
  const { rm: realRm } = fileSystem;
  onTestFinished(() => {
    fileSystem.rm = realRm;
    syncBuiltinESMExports();
  });
  const attempts: string[] = [];
  fileSystem.rm = async (path, options) => {
    await prepareWorkDirectory(workDirectory).catch((error: Error) => attempts.push(error.message));
    return realRm(path, options);
  };
  syncBuiltinESMExports();
  await claim.release();
  expect(attempts).toEqual([expect.stringContaining("Another backend works in")]);
  expect(await readdir(workDirectory)).toEqual([]);
});

it("a work directory that another user has made is not used, and not emptied", async () => {
  const workDirectory = await makeTemporaryFolder("work-directory-test-");
  await writeFile(join(workDirectory, "theirs"), "");
  const getuid = vi.spyOn(process, "getuid").mockReturnValue((await stat(workDirectory)).uid + 1);
  onTestFinished(() => void getuid.mockRestore());
  await expect(prepareWorkDirectory(workDirectory)).rejects.toThrow("belongs to another user");
  expect(await readdir(workDirectory)).toEqual(["theirs"]);
});

it.each([
  [94, true],
  [95, false],
])("a work directory with a path of %i bytes leaves room for its sockets: %s", async (bytes, isTaken) => {
  const folder = await makeTemporaryFolder("work-directory-test-");
  const workDirectory = join(folder, "x".repeat(bytes - Buffer.byteLength(folder) - 1));
  const taking = prepareWorkDirectory(workDirectory);
  if (!isTaken) {
    await expect(taking).rejects.toThrow("is longer than 94 bytes. Set SERVICE_WORK_DIRECTORY.");
    return;
  }
  const claim = await taking;
  expect((await stat(workDirectory)).mode & 0o777).toBe(0o700);
  await new Launcher(readBackendSettings({ SERVICE_WORK_DIRECTORY: workDirectory })).close();
  await claim.release();
});

it("processes that a crash has left in the work directory are killed, and no others", async () => {
  const folder = await makeTemporaryFolder("work-directory-test-");
  const workDirectory = join(folder, "work");
  const start = (path: string) =>
    spawn("/bin/sh", ["-c", "read line", "sh", path], { stdio: ["pipe", "ignore", "ignore"] });
  const left = start(join(workDirectory, `render-${CRASHED}`));
  const other = start(join(folder, "work-of-another", "render-busy"));
  onTestFinished(() => {
    for (const child of [left, other]) child.kill("SIGKILL");
  });
  await Promise.all([once(left, "spawn"), once(other, "spawn")]);
  const ended = once(left, "exit");
  const claim = await prepareWorkDirectory(workDirectory);
  expect(await ended).toEqual([null, "SIGKILL"]);
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
  await claim.release();
});

it("a render directory whose output directory cannot be made is removed", async () => {
  const workDirectory = await makeTemporaryFolder("work-directory-test-");
  const { mkdir: realMkdir } = fileSystem;
  onTestFinished(() => {
    fileSystem.mkdir = realMkdir;
    syncBuiltinESMExports();
  });
  fileSystem.mkdir = () => Promise.reject<never>(Object.assign(new Error("no space"), { code: "ENOSPC" }));
  syncBuiltinESMExports();
  await expect(RenderDirectory.create(workDirectory, true)).rejects.toThrow("no space");
  expect(await readdir(workDirectory)).toEqual([]);
});
