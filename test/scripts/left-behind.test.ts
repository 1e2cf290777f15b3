/** What `npm test` finds left behind when the tests have ended. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { leftBehind, processesOf, projectFiles, type Surroundings } from "../left-behind.ts";

async function emptySurroundings(): Promise<Surroundings> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "left-behind-test-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [temporaryFolder, projectFolder] = [join(folder, "temporary"), join(folder, "project")];
  await mkdir(temporaryFolder);
  await mkdir(join(projectFolder, ".wrangler"), { recursive: true });
  await writeFile(join(projectFolder, ".wrangler/old"), "");
  return { temporaryFolder, projectFolder, filesBefore: projectFiles(projectFolder) };
}

describe("what tests leave behind", () => {
  it("is nothing if nothing is left", async () => {
    expect(await leftBehind(await emptySurroundings())).toEqual([]);
  });

  it("includes a file in their temporary folder, a new file in the project, and one where tools write", async () => {
    const surroundings = await emptySurroundings();
    await writeFile(join(surroundings.temporaryFolder, "a"), "");
    await writeFile(join(surroundings.projectFolder, "b"), "");
    await mkdir(join(surroundings.projectFolder, ".wrangler/tmp"));
    expect(await leftBehind(surroundings)).toEqual([
      "temporary file: a",
      "file in the project: b",
      "file in the project: .wrangler/tmp",
    ]);
  });

  it.each([
    ["works in the folder", (folder: string) => ({ cwd: folder })],
    ["names it in its environment", (folder: string) => ({ env: { PLACE: `${folder}/x` } })],
    ["names it in its arguments", (folder: string) => ({ argv0: `${folder}/x` })],
  ])("is a process that %s", async (_what, options) => {
    const { temporaryFolder } = await emptySurroundings();
    const child = spawn("/bin/sh", ["-c", "read line"], {
      cwd: "/",
      env: {},
      ...options(temporaryFolder),
      stdio: ["pipe", "ignore", "ignore"],
    });
    await once(child, "spawn");
    onTestFinished(() => void child.kill("SIGKILL"));
    await expect.poll(() => processesOf(temporaryFolder)).toEqual([expect.stringMatching(`^process ${child.pid}: `)]);
    child.stdin.end();
    await once(child, "exit");
    expect(processesOf(temporaryFolder)).toEqual([]);
  });
});
