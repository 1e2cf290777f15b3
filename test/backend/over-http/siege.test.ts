/**
 * Requests that would take from all other callers what the backend has: its event loop, its disk, its patience. Each is
 * small on the wire. Slots and outputs have files of their own: `caller-shares.test.ts`, `delivery.test.ts`.
 */
import { once } from "node:events";
import { readdir, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { describeError, ServiceFailure } from "../../../backend/error-log.ts";
import { type BodyReading, readBody } from "../../../backend/http/read-body.ts";
import { countNamedDirectories, directoriesOf } from "../../../backend/work-directory/directory-paths.ts";
import { makeDirectories, removeDirectories } from "../../../backend/work-directory/directory-tree.ts";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { textFile } from "../../support/bombs.ts";
import { makeFakeTypst, waitFor } from "../../support/fake-typst.ts";
import { expectProblem } from "../../support/problems.ts";
import { backendRenderHead, declared, RawConnection, sendWithoutReading } from "../../support/raw-connection.ts";
import { makeTemporaryFolder } from "../../support/temporary-folder.ts";
import { startBackendForTest, type TestBackend } from "../../support/test-backend.ts";

const MEBIBYTE = 1024 ** 2;
const ZIP_OF_SVG = { format: "svg", archive: "zip" };

describe("an archive of pages that take long to pack", () => {
  /** Writes pages of noise into the output directory, which compress slowly. */
  const writePages = (count: number) =>
    `cat > /dev/null; head -c 4194304 /dev/urandom > "$here/noise"; n=1
while [ $n -le ${count} ]; do cp "$here/noise" "$(dirname "$target")/$n"; n=$((n + 1)); done`;

  const SPACE = { SERVICE_MAX_OUTPUT_BYTES: String(256 * MEBIBYTE), SERVICE_MAX_TEMP_BYTES: String(1024 * MEBIBYTE) };

  it("is given up at the deadline of the render", async () => {
    const typst = await makeFakeTypst(`${writePages(50)}; sleep 2.5`);
    const backend = await startBackendForTest({
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_RENDER_TIMEOUT_SECONDS: "4",
      ...SPACE,
    });
    await expectProblem(await backend.render({ source: "x", output: ZIP_OF_SVG }), "render_timeout");
    await expect.poll(() => backend.projects()).toEqual([]);
    await expect.poll(() => backend.metric("service_temp_reserved_bytes")).toBe(0);
  });

  it("is given up when its client goes, and lets others be served meanwhile", async () => {
    const typst = await makeFakeTypst(`${writePages(50)}; : > "$here/written"`);
    const backend = await startBackendForTest({ SERVICE_TYPST_BIN: typst.path, ...SPACE });
    const leaving = new AbortController();
    const answer = backend.render({ source: "x", output: ZIP_OF_SVG }, { signal: leaving.signal });
    answer.catch(() => {});
    await expect.poll(() => typst.read("written")).not.toBeNull();
    for (let count = 0; count < 5; count++) expect((await backend.fetch("/health")).status).toBe(200);
    expect(await backend.metric("service_renders_running")).toBe(1);
    leaving.abort();
    await expect(answer).rejects.toThrow();
    await expect.poll(() => backend.metric("service_renders_running")).toBe(0);
    expect(await backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
    await expect.poll(() => backend.projects()).toEqual([]);
  });
});

describe("temporary space", () => {
  it("is for what is used: with default settings, 32 slots can all make archives", async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; ${waitFor("go")}; printf '<svg/>' > "$(dirname "$target")/1"`);
    const backend = await startBackendForTest({ SERVICE_TYPST_BIN: typst.path, SERVICE_MAX_CONCURRENT_RENDERS: "32" });
    const answers = Array.from({ length: 32 }, () => backend.render({ source: "x", output: ZIP_OF_SVG }));
    await expect.poll(() => backend.metric("service_renders_running")).toBe(32);
    await typst.signal("go");
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses).toEqual(statuses.map(() => 200));
  });
});

describe("keys of many folders", () => {
  const deepKey = (root: string) => `${root}/${"a/".repeat(248)}x`;
  const ROOTS = Array.from({ length: 64 }, (_, index) => `r${index}`);
  const deepFiles = () => Object.fromEntries(ROOTS.map((root) => [deepKey(root), textFile("x")]));

  it("are written, read by Typst and removed, 16,000 folders at a time", async () => {
    const backend = await startBackendForTest();
    const source = `#assert.eq(read("${deepKey("r63")}"), "x")\nread`;
    expect((await backend.render({ source, files: deepFiles() })).status).toBe(200);
    // Removing a folder of ext4 takes ten times as long as making one.
    await expect.poll(() => backend.projects(), { timeout: 250_000 }).toEqual([]);
  });

  it("are made one after the other, each after its parent, and stop being made when nobody wants them", async () => {
    const root = await makeTemporaryFolder("siege-test-");
    const keys = ROOTS.map(deepKey);
    expect(directoriesOf(keys)).toHaveLength(64 * 249);
    expect(countNamedDirectories(keys)).toBe(64 * 249);
    const leaving = new AbortController();
    const making = makeDirectories(root, keys, leaving.signal);
    await expect.poll(() => readdir(root), { interval: 1 }).not.toEqual([]);
    leaving.abort();
    await making;
    expect((await readdir(root)).length).toBeLessThan(ROOTS.length);
  });

  it("name the folder that cannot be made", async () => {
    const root = await makeTemporaryFolder("siege-test-");
    await writeFile(join(root, "taken"), "");
    const keys = [...Array.from({ length: 20 }, (_, index) => `d${index}/x`), "taken/x"];
    const failure = { code: "EEXIST", path: "taken" };
    await expect(makeDirectories(root, keys, new AbortController().signal)).rejects.toMatchObject(failure);
    await removeDirectories(root, keys.slice(0, 20));
    expect(await readdir(root)).toEqual(["taken"]);
    expect((await stat(join(root, "taken"))).size).toBe(0);
  });
});

describe("a budget of bytes", () => {
  it("gives a caller all but what one request of another can need", () => {
    const budget = new ByteBudget({ maxBytes: 100, maxBytesPerRequest: 30 });
    const [first, second, other] = [budget.open("a"), budget.open("a"), budget.open("b")];
    expect(first.resize(40)).toBe(true);
    expect(second.resize(31)).toBe(false);
    expect(second.resize(30)).toBe(true);
    expect(other.resize(31)).toBe(false);
    expect(other.resize(30)).toBe(true);
    expect(budget.reservedBytes).toBe(100);
    first.release();
    first.release();
    expect(first.resize(1)).toBe(false);
    expect(budget.reservedBytes).toBe(60);
    second.release();
    other.release();
    expect(budget.reservedBytes).toBe(0);
  });

  it("always has room for one request, however small it is", () => {
    const budget = new ByteBudget({ maxBytes: 40, maxBytesPerRequest: 30 });
    expect(budget.open("a").resize(30)).toBe(true);
  });
});

describe("the memory of bodies", () => {
  it("is refused to a caller that holds its share, and not to another", async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; ${waitFor("go")}; printf done`);
    const backend = await startBackendForTest({
      SERVICE_TYPST_BIN: typst.path,
      SERVICE_MAX_CONCURRENT_RENDERS: "1",
      SERVICE_MAX_REQUEST_BODY_BYTES: String(MEBIBYTE),
      SERVICE_MAX_BODY_MEMORY_BYTES: String(4 * MEBIBYTE),
    });
    const render = (caller: string) =>
      backend.render({ source: "x", data: "y".repeat(0.9 * MEBIBYTE) }, { headers: { "X-Service-Caller": caller } });
    const flood = [1, 2, 3].map(() => render("flood"));
    await expect.poll(() => backend.metric("service_renders_waiting")).toBe(2);
    await expectProblem(await render("flood"), "render_queue_full");
    const other = render("other");
    await expect.poll(() => backend.metric("service_renders_waiting")).toBe(3);
    await typst.signal("go");
    for (const answer of [...flood, other]) expect((await answer).status).toBe(200);
    await expect.poll(() => backend.metric("service_body_memory_bytes")).toBe(0);
  });

  /** What becomes of a body that is sent piece by piece. */
  async function readSlowly(pieces: AsyncIterable<string>, silenceMilliseconds: number): Promise<BodyReading> {
    const memory = new ByteBudget({ maxBytes: MEBIBYTE, maxBytesPerRequest: MEBIBYTE }).open("slow");
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n");
    const [message]: IncomingMessage[] = await once(server, "request");
    if (message === undefined) throw new Error("no request has come");
    const reading = readBody(message, DEFAULT_LIMITS, memory, { totalMilliseconds: 1000, silenceMilliseconds });
    void (async () => {
      for await (const piece of pieces) if (!socket.destroyed) socket.write(piece);
    })();
    return reading.finally(() => socket.destroy());
  }

  async function* every(milliseconds: number): AsyncGenerator<string> {
    for (let count = 0; count < 50; count++) {
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      yield "x";
    }
  }

  it.each([
    ["silent", 5000, 200],
    ["steady, and takes too long as a whole", 40, 900],
  ])("is given back by a body that is %s", async (_what, pauseMilliseconds, silenceMilliseconds) => {
    const reading = await readSlowly(every(pauseMilliseconds), silenceMilliseconds);
    expect(reading).toMatchObject({ kind: "refused", problem: { code: "invalid_request" } });
  });
});

describe("on one connection", () => {
  /** All that a server sends until it closes. */
  async function exchange(backend: TestBackend, text: string): Promise<string> {
    const connection = new RawConnection(backend.url);
    void connection.write(text);
    return (await connection.readToEnd()).toString("latin1");
  }

  const request = (body: string, fields: Readonly<Record<string, string>> = {}) =>
    backendRenderHead({ ...declared(body.length), ...fields }) + body;
  const CLOSE = { Connection: "close" };

  it("garbage after a valid request is answered after it, and does not replace its answer", async () => {
    const backend = await startBackendForTest();
    const received = await exchange(backend, `${request('{"source":"x"}')}\x01\x02 garbage\r\n\r\n`);
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
    expect(received).toContain("%PDF-");
    expect(received).toContain('"code":"invalid_request"');
  });

  it("a short render behind a long one is answered after it", async () => {
    const typst = await makeFakeTypst(`read=$(tail -n 1); [ "$read" = slow ] && { ${waitFor("go")}; }; printf "$read"`);
    const backend = await startBackendForTest({ SERVICE_TYPST_BIN: typst.path, SERVICE_MAX_CONCURRENT_RENDERS: "2" });
    const slow = request(JSON.stringify({ source: "slow\n" }));
    const answer = exchange(backend, slow + request(JSON.stringify({ source: "quick\n" }), CLOSE));
    await expect.poll(() => backend.metric("service_deliveries_underway")).toBe(1);
    await typst.signal("go");
    const received = await answer;
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    expect(received.indexOf("slow")).toBeLessThan(received.indexOf("quick"));
    expect(await backend.metric("service_render_requests_total", { outcome: "ok" })).toBe(2);
  });

  it("an expectation that is not known is left unmet, and the request is answered", async () => {
    const backend = await startBackendForTest();
    const received = await exchange(backend, request('{"source":"x"}', { Expect: "a-miracle", ...CLOSE }));
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("a refusal reaches a client that writes its whole body before it reads", async () => {
    const backend = await startBackendForTest({ SERVICE_MAX_REQUEST_BODY_BYTES: String(MEBIBYTE) });
    const body = "x".repeat(20 * MEBIBYTE);
    const received = await exchange(backend, request(body, CLOSE));
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toContain('"code":"request_too_large"');
  });
});

describe("a body", () => {
  it("is not held while the output is delivered", async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; head -c ${24 * MEBIBYTE} /dev/zero`);
    const backend = await startBackendForTest({ SERVICE_TYPST_BIN: typst.path });
    const file = textFile("z".repeat(MEBIBYTE));
    const files = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`f${index}`, file]));
    setFlagsFromString("--expose-gc");
    const collectGarbage: unknown = runInNewContext("gc");
    const heldBytes = () => {
      if (typeof collectGarbage === "function") collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const before = heldBytes();
    const readers = Array.from({ length: 6 }, () => sendWithoutReading(backend.url, { source: "x", files }));
    onTestFinished(() => {
      for (const { socket } of readers) socket.destroy();
    });
    await expect.poll(() => backend.metric("service_deliveries_underway")).toBe(6);
    // Six bodies of 15 MB would be 90 MB.
    await expect.poll(() => heldBytes() - before).toBeLessThan(30 * MEBIBYTE);
  });
});

describe("an error in the log", () => {
  it("names what failed, and nothing of a caller's", async () => {
    const error: unknown = await writeFile("/nowhere/JANE-DOE-salary.csv", "").catch((failure: unknown) => failure);
    const logged = describeError(error);
    expect(logged).toMatchObject({ type: "Error", message: "", code: "ENOENT", syscall: "open" });
    expect(JSON.stringify(logged)).not.toContain("JANE");
  });

  it("keeps lines of a message out of the stack", () => {
    const logged = describeError(new SyntaxError("Unexpected token\n    at JANE-DOE (salary.csv:1:1)"));
    expect(JSON.stringify(logged)).not.toContain("JANE");
    expect(logged.stack).toMatch(/^at /);
  });

  it("says in words what the service itself found wrong", () => {
    expect(describeError(new ServiceFailure("the disk is full"))).toMatchObject({ message: "the disk is full" });
    expect(describeError("thrown text")).toMatchObject({ type: "string", message: "" });
  });
});
