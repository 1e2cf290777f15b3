/** Delivery of outputs to clients that read slowly or not at all: what it holds, for how long, and whom it affects. */
import { tmpdir } from "node:os";
import Fastify, { type FastifyReply } from "fastify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ByteBudget } from "../../../backend/admission/byte-budget.ts";
import { Deliveries } from "../../../backend/http/delivery.ts";
import { Spool } from "../../../backend/render/spool.ts";
import { DEFAULT_OUTPUT } from "../../../rules/output-options.ts";
import { LOOPBACK } from "../../../scripts/start/local-service.ts";
import { NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { makeFakeTypst } from "../../support/backend/fake-typst.ts";
import { startTemporaryBackend, type TestBackend } from "../../support/backend/test-backend.ts";
import { expectProblem } from "../../support/problems.ts";
import { RawConnection, sendWithoutReading } from "../../support/service/raw-connection.ts";

const MEBIBYTE = 1024 ** 2;
/** More than the kernel buffers for a connection that nobody reads. */
const LARGE_BYTES = 24 * MEBIBYTE;

/** A backend whose every render is an output of this size. */
async function backendOf(outputBytes: number, settings: Readonly<Record<string, string>> = {}): Promise<TestBackend> {
  const typst = await makeFakeTypst(`cat > /dev/null
if [ "$target" = - ]; then head -c ${outputBytes} /dev/zero; else head -c ${outputBytes} /dev/zero > "$(dirname "$target")/1"; fi`);
  return startTemporaryBackend({
    SERVICE_TYPST_BIN: typst.path,
    // Longer than any test: nothing here ends at these limits.
    SERVICE_DELIVERY_SILENCE_SECONDS: "3600",
    SERVICE_QUEUE_DEADLINE_SECONDS: "600",
    ...NO_TIME_LIMIT,
    ...settings,
  });
}

const held = (backend: TestBackend) =>
  Promise.all(
    ["service_deliveries_underway", "service_output_memory_bytes", "service_temp_reserved_bytes"].map((name) =>
      backend.metric(name),
    ),
  );

describe("an output that is not read", () => {
  it("takes a file if it is large, and neither memory nor a slot", async () => {
    const backend = await backendOf(LARGE_BYTES, { SERVICE_MAX_CONCURRENT_RENDERS: "1" });
    const readers = [1, 2].map(() => sendWithoutReading(backend.url, { source: "x" }));
    await expect.poll(() => held(backend)).toEqual([2, 0, 2 * LARGE_BYTES]);
    expect(await backend.metric("service_renders_running")).toBe(0);
    for (const { socket } of readers) socket.destroy();
    await expect.poll(() => held(backend)).toEqual([0, 0, 0]);
    expect(await backend.metric("service_deliveries_total", { end: "client_gone" })).toBe(2);
  });

  it("is abandoned at the deadline for silence", async () => {
    const backend = await backendOf(LARGE_BYTES, { SERVICE_DELIVERY_SILENCE_SECONDS: "1" });
    const { socket } = sendWithoutReading(backend.url, { source: "x" });
    onTestFinished(() => void socket.destroy());
    await expect.poll(() => backend.metric("service_deliveries_total", { end: "silent" })).toBe(1);
    expect(await held(backend)).toEqual([0, 0, 0]);
    expect(await backend.metric("service_render_requests_total", { outcome: "client_gone" })).toBe(1);
  });

  it("is abandoned at the deadline for the whole delivery, however steadily it is read", async () => {
    const backend = await backendOf(LARGE_BYTES, {
      SERVICE_DELIVERY_SILENCE_SECONDS: "60",
      SERVICE_DELIVERY_TIMEOUT_SECONDS: "2",
    });
    const { socket } = sendWithoutReading(backend.url, { source: "x" });
    const trickle = setInterval(() => socket.read(1), 50);
    onTestFinished(() => clearInterval(trickle));
    await expect.poll(() => backend.metric("service_deliveries_total", { end: "timed_out" })).toBe(1);
    await expect.poll(() => held(backend)).toEqual([0, 0, 0]);
    socket.destroy();
  });
});

/** Deliveries without a backend. */
function openDeliveries() {
  const memory = new ByteBudget(MEBIBYTE, MEBIBYTE);
  const deliveries = new Deliveries({ silenceMilliseconds: 3_600_000, totalMilliseconds: 3_600_000 });
  const app = Fastify();
  onTestFinished(() => app.close());
  const deliver = async (reply: FastifyReply) => {
    const output = new Spool({ directory: tmpdir(), maxOutputBytes: MEBIBYTE, memory, disk: memory }, "caller");
    await output.append(Buffer.from("an output"));
    return deliveries.deliver(reply, output, DEFAULT_OUTPUT);
  };
  return { app, memory, deliveries, deliver };
}

it("an output that is ready when its connection has closed is dropped at once, even for a request behind another on the connection", async () => {
  const { app, memory, deliveries, deliver } = openDeliveries();
  const begun: string[] = [];
  const ends: string[] = [];
  app.get("/:name", async (request, reply) => {
    begun.push(request.url);
    await new Promise((resolve) => request.raw.socket.once("close", resolve));
    ends.push((await deliver(reply)).end);
    reply.hijack();
  });
  const connection = new RawConnection(new URL(await app.listen({ host: LOOPBACK, port: 0 })));
  await connection.write("GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(() => begun).toEqual(["/first", "/second"]);
  connection.reset();
  await expect.poll(() => ends).toEqual(["client_gone", "client_gone"]);
  expect([deliveries.underWay, memory.reservedBytes]).toEqual([0, 0]);
});

it("a delivery that has ended leaves no deadline behind", async () => {
  const { app, deliver } = openDeliveries();
  app.get("/", async (_request, reply) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { end } = await deliver(reply);
    ended.resolve([end, vi.getTimerCount()]);
    return reply;
  });
  const ended = Promise.withResolvers<[string, number]>();
  const connection = new RawConnection(new URL(await app.listen({ host: LOOPBACK, port: 0 })));
  await connection.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect((await connection.readBody()).toString()).toBe("an output");
  expect(await ended.promise).toEqual(["delivered", 0]);
});

describe("an output whose file cannot be read", () => {
  /** Lets the reads of 256 KiB that deliver an output fail, after some of them. */
  function failReads(after: number): void {
    let reads = 0;
    const read = vi.spyOn(Spool.prototype, "read").mockImplementation(async function* (this: Spool) {
      for (let size = 0; size < this.size; size += CHUNK_BYTES) {
        if (reads++ >= after) throw Object.assign(new Error("EIO: i/o error, read"), { code: "EIO", syscall: "read" });
        yield Buffer.alloc(CHUNK_BYTES);
      }
    });
    onTestFinished(() => void read.mockRestore());
  }
  const CHUNK_BYTES = 256 * 1024;
  const counts = (backend: TestBackend) =>
    Promise.all([
      backend.metric("service_deliveries_total", { end: "failed" }),
      backend.metric("service_render_requests_total", { outcome: "service_unavailable" }),
      backend.metric("service_render_refusals_total", { cause: "backend_failure" }),
      backend.metric("service_deliveries_total", { end: "delivered" }),
    ]);
  const expectLogged = (backend: TestBackend) =>
    expect
      .poll(() => backend.logged)
      .toMatchObject([
        { msg: "request failed", err: { code: "EIO", syscall: "read", message: "" } },
        { msg: "render", outcome: "service_unavailable", unavailableCause: "backend_failure" },
      ]);

  it("is a problem without the header fields of a file, if nothing of it was sent", async () => {
    const backend = await backendOf(4 * CHUNK_BYTES + MEBIBYTE);
    failReads(0);
    const answer = await backend.render({ source: "x" });
    expect(answer.headers.get("Content-Disposition")).toBeNull();
    await expectProblem(answer, "service_unavailable");
    await expect.poll(() => counts(backend)).toEqual([1, 1, 1, 0]);
    await expectLogged(backend);
    await expect.poll(() => held(backend)).toEqual([0, 0, 0]);
  });

  it("breaks the connection, if a part of it was sent", async () => {
    const backend = await backendOf(4 * CHUNK_BYTES + MEBIBYTE);
    failReads(3);
    const answer = await backend.render({ source: "x" });
    expect(answer.status).toBe(200);
    await expect(answer.bytes()).rejects.toThrow();
    await expect.poll(() => counts(backend)).toEqual([1, 1, 1, 0]);
    await expectLogged(backend);
    await expect.poll(() => held(backend)).toEqual([0, 0, 0]);
  });
});

it("an output that breaks off between Typst and the backend is never delivered as complete", async () => {
  // A program that ends without reading its input may break the connection while its output is still on the way.
  const bytes = 4 * MEBIBYTE;
  const typst = await makeFakeTypst(`head -c ${bytes} /dev/zero`);
  const backend = await startTemporaryBackend({ SERVICE_TYPST_BIN: typst.path });
  for (let round = 0; round < 5; round++) {
    const answer = await backend.render({ source: "x".repeat(100_000) });
    if (answer.status === 200) expect((await answer.bytes()).length).toBe(bytes);
    else await expectProblem(answer, "service_unavailable");
  }
});

it.each([
  ["in memory, at most", MEBIBYTE],
  ["in a file, at least", MEBIBYTE + 1],
])("an output that is read arrives complete with its length: %s", async (_what, bytes) => {
  const backend = await backendOf(bytes);
  const answer = await backend.render({ source: "x" });
  expect(answer.headers.get("Content-Length")).toBe(String(bytes));
  expect(answer.headers.get("Content-Type")).toBe("application/pdf");
  expect(answer.headers.get("Content-Disposition")).toBe("inline; filename=document.pdf");
  const received = Buffer.from(await answer.bytes());
  expect(received.equals(Buffer.alloc(bytes))).toBe(true);
  await expect.poll(() => held(backend)).toEqual([0, 0, 0]);
  expect(await backend.metric("service_deliveries_total", { end: "delivered" })).toBe(1);
});
