/** The directories of renders: which ones serve another render, and which ones never do. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { TypstProcess } from "../../../backend/compiler/process.ts";
import { TypstSupervisor } from "../../../backend/compiler/supervisor.ts";
import type { RenderDirectory } from "../../../backend/work-directory/render-directory.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { parseRenderRequest } from "../../../rules/render-request.ts";
import type { RenderCommand } from "../../../typst/command-line.ts";
import { ENDLESS } from "../../support/backend/bombs.ts";
import { typstProcessesOf } from "../../support/backend/processes.ts";
import { textFile } from "../../support/backend/request-files.ts";
import { eachSandbox, openTestSandbox, PAGES, PDF, SANDBOXES } from "../../support/backend/test-sandbox.ts";

const COMMAND: RenderCommand = { output: PDF, fontCount: 0 };

function perform(process: TypstProcess, source = "Hello") {
  return process.perform({ programText: [Buffer.from(source)], over: AbortSignal.timeout(60_000) });
}

/** Writes files with these keys, and the data. */
function fill(directory: RenderDirectory, keys: readonly string[]) {
  const files = Object.fromEntries(keys.map((key) => [key, textFile("text")]));
  const body = Buffer.from(JSON.stringify({ source: "x", data: { a: 1 }, files }));
  const parsed = parseRenderRequest(body, DEFAULT_LIMITS);
  if (!parsed.ok) throw new Error(parsed.problem.detail);
  return directory.fill(body, parsed.request, new AbortController().signal);
}

eachSandbox(describe, SANDBOXES)("in %s, a render directory", (mode) => {
  async function openSupervisor() {
    const { settings, sandbox, launcher } = await openTestSandbox(mode);
    const supervisor = new TypstSupervisor(settings, sandbox, launcher);
    onTestFinished(() => supervisor.close());
    const start = (when: "now" | "ahead" = "now") => supervisor.start(COMMAND, when);
    return { settings, supervisor, start };
  }

  it("serves the next render when its process has ended by itself", async () => {
    const { supervisor, start } = await openSupervisor();
    const first = await start("ahead");
    await perform(first);
    await supervisor.discard(first);
    expect((await start()).directory).toBe(first.directory);
  });

  it("serves the next render without the files and folders of this one", async () => {
    const { supervisor, start } = await openSupervisor();
    const first = await start();
    await fill(first.directory, ["a.txt", "lib/a.txt", "lib/deep/b.txt", "fonts/c.otf"]);
    await perform(first, '#read("lib/deep/b.txt")');
    await supervisor.discard(first);
    const { directory } = await start();
    expect(directory).toBe(first.directory);
    expect(await readdir(directory.root)).toEqual([]);
    expect(await fill(directory, ["a.txt", "lib/a.txt", "lib/deep/b.txt", "fonts/c.otf"])).toBe(null);
  });

  it.each([
    ["there are more than a few folders in it", [`${"a/".repeat(17)}a.txt`], ""],
    ["a folder of it has a file that nobody has put there", ["lib/a.txt"], "lib/planted.txt"],
  ])("serves no other render when %s", async (_case, keys, planted) => {
    const { supervisor, start } = await openSupervisor();
    const first = await start();
    const { root } = first.directory;
    await fill(first.directory, keys);
    if (planted !== "") await writeFile(join(root, planted), "");
    await perform(first);
    await supervisor.discard(first);
    expect((await start()).directory).not.toBe(first.directory);
    await expect(readdir(root)).rejects.toThrow("ENOENT");
  });

  it.each(["now", "ahead"] as const)(
    "serves no other render when its process was started %s and killed",
    async (when) => {
      const { settings, supervisor, start } = await openSupervisor();
      const first = await start(when);
      const killed = perform(first, ENDLESS);
      await expect.poll(() => typstProcessesOf(settings.workDirectory)).toHaveLength(1);
      first.stop("over");
      expect((await killed).end.kind).toBe("stopped");
      await supervisor.discard(first);
      expect((await start(when)).directory).not.toBe(first.directory);
    },
  );

  it("is removed later if that is not possible at once, for lack of descriptors for example", async () => {
    const { supervisor } = await openSupervisor();
    const first = await supervisor.start({ output: PAGES, fontCount: 0 });
    const { root, outputDirectory } = first.directory;
    vi.spyOn(first.directory, "remove").mockRejectedValueOnce(new Error("EMFILE"));
    await supervisor.discard(first);
    for (const directory of [root, outputDirectory ?? ""]) await expect(readdir(directory)).rejects.toThrow("ENOENT");
  });

  it("serves no other render when a second process in it was killed", async () => {
    const { supervisor, start } = await openSupervisor();
    const first = await start();
    await perform(first);
    const second = supervisor.startIn(first.directory, () => ["compile", "-", "-"]);
    await second.discard();
    await supervisor.discard(first);
    expect((await start()).directory).not.toBe(first.directory);
  });
});
