/** The official release of Typst, from a server on this machine: accepted, refused, or replaced by a build. */
import { chown, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { sha256 } from "../../scripts/pinned/content-digest.ts";
import { fetchRelease } from "../../scripts/set-up/typst-download.mjs";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { closeServer, listenOnLoopback } from "../support/loopback-server.ts";

const FOLDER = "typst-of-this-test";
const LIMITS = { answerMilliseconds: 60_000, downloadMilliseconds: 60_000, maxBytes: 1_000_000 };
/** For servers that never finish their answer. */
const SHORT_LIMITS = { ...LIMITS, answerMilliseconds: 100, downloadMilliseconds: 100 };
const OTHER_USER_ID = 1234;

let folder: string;
let archive: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "typst-release-"));
  archive = await makeArchive(`#!/bin/sh\necho "typst ${TYPST_VERSION} (of this test)"\n`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

// The progress messages of the set-up stay out of the test output.
beforeEach(() => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  return () => write.mockRestore();
});

describe("a release of Typst", () => {
  it("is downloaded, from behind a redirect too, and unpacked to a binary that runs and is the user's own", async () => {
    const { outcome } = await fetchFrom(({ url }, response) => {
      if (url === "/elsewhere") response.end(archive);
      else response.writeHead(302, { location: "/elsewhere" }).end();
    });
    const fetched = await outcome;
    if ("reason" in fetched) throw new Error(fetched.reason);
    const { stdout } = await execa(fetched.binary, ["--version"]);
    expect(stdout).toBe(`typst ${TYPST_VERSION} (of this test)`);
    expect((await stat(fetched.binary)).uid).toBe(process.getuid?.());
  });

  it("is refused before it is unpacked if its checksum is wrong", async () => {
    const digest = "0".repeat(64);
    const { outcome, work } = await fetchFrom((_request, response) => response.end(archive), { digest });
    await expect(outcome).rejects.toThrow(`has the SHA-256 ${sha256(archive)}, not the pinned ${digest}`);
    expect(await readdir(work)).toEqual([]);
  });

  it.each<[name: string, make: () => Promise<Buffer>, reason: string]>([
    ["its binary has another version", () => makeArchive('#!/bin/sh\necho "typst 0.1.0"\n'), 'says "typst 0.1.0", not'],
    ["it is not an archive", async () => Buffer.from("not an archive"), "cannot unpack the release (exit code"],
  ])("leads to a build if %s", async (_name, make, reason) => {
    const content = await make();
    const { outcome } = await fetchFrom((_request, response) => response.end(content), { digest: sha256(content) });
    expect(await outcome).toEqual({ reason: expect.stringContaining(reason) });
  });

  it("leads to a build on a platform that has no release", async () => {
    const outcome = await fetchRelease(undefined, folder, new AbortController().signal);
    expect(outcome).toEqual({ reason: `there is no release for ${process.platform}-${process.arch}` });
  });

  it.each<[name: string, answer: RequestListener, reason: string, limits?: typeof LIMITS]>([
    ["has no such file", (_request, response) => response.writeHead(404).end("x".repeat(100_000)), "HTTP 404"],
    ["never answers", () => {}, "it takes too long", SHORT_LIMITS],
    [
      "stalls in the middle",
      (_request, response) => response.writeHead(200).write("x"),
      "it takes too long",
      SHORT_LIMITS,
    ],
    [
      "sends more than any release has",
      (_request, response) => response.end(Buffer.alloc(LIMITS.maxBytes + 1)),
      "more than 1000000 bytes",
    ],
    [
      "hangs up in the middle",
      (_request, response) => {
        response.writeHead(200, { "content-length": 1000 });
        response.write("x", () => response.destroy());
      },
      "UND_ERR_SOCKET",
    ],
  ])("leads to a build when the server %s", async (_name, answer, reason, limits = LIMITS) => {
    const { outcome, host } = await fetchFrom(answer, { limits });
    expect(await outcome).toEqual({ reason: `the release on ${host} cannot be reached (${reason})` });
  });

  it("is abandoned at once when the set-up is told to stop", async () => {
    const interruption = new AbortController();
    const { outcome } = await fetchFrom(() => interruption.abort(), { signal: interruption.signal });
    await expect(outcome).rejects.toThrow("aborted");
  });
});

/** Starts to fetch a release from a server that answers like this, until the test has finished. */
async function fetchFrom(
  answer: RequestListener,
  { digest = sha256(archive), limits, signal }: { digest?: string; limits?: typeof LIMITS; signal?: AbortSignal } = {},
) {
  const server = createServer(answer);
  const { host } = await listenOnLoopback(server);
  onTestFinished(() => closeServer(server));
  const release = { url: `http://${host}/typst.tar.xz`, folder: FOLDER, sha256: digest };
  const work = await mkdtemp(join(folder, "work-"));
  const outcome = fetchRelease(release, work, signal ?? new AbortController().signal, limits);
  return { outcome, work, host };
}

/**
 * A release like the official ones, with this script as its binary. If possible, its files belong to another user, as
 * theirs do.
 */
async function makeArchive(script: string): Promise<Buffer> {
  const source = await mkdtemp(join(folder, "source-"));
  const binary = join(source, FOLDER, "typst");
  await mkdir(join(source, FOLDER));
  await writeFile(binary, script, { mode: 0o755 });
  if (process.getuid?.() === 0) await chown(binary, OTHER_USER_ID, OTHER_USER_ID);
  const file = join(source, "typst.tar.xz");
  await execa("tar", ["-cJf", file, "-C", source, FOLDER]);
  return readFile(file);
}
