/** The memory for request bodies: how callers share it, and when it is free again. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeFakeTypst, waitFor } from "../../support/fake-typst.ts";
import { expectProblem } from "../../support/problems.ts";
import { sendWithoutReading } from "../../support/raw-connection.ts";
import { textFile } from "../../support/request-files.ts";
import { startTemporaryBackend } from "../../support/test-backend.ts";

const MEBIBYTE = 1024 ** 2;

describe("the memory of bodies", () => {
  it("is refused to a caller that has used its share, and not to another", async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; ${waitFor("go")}; printf done`);
    const backend = await startTemporaryBackend({
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
});

describe("the body of a request", () => {
  it("is not kept in memory while the output is delivered", async () => {
    const typst = await makeFakeTypst(`cat > /dev/null; head -c ${24 * MEBIBYTE} /dev/zero`);
    const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path });
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
    // 90 MB of bodies are read, validated and rendered first.
    await expect.poll(() => backend.metric("service_deliveries_underway")).toBe(6);
    // Six bodies of 15 MB would be 90 MB.
    await expect.poll(() => heldBytes() - before).toBeLessThan(30 * MEBIBYTE);
  });
});
