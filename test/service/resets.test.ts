import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { ENDLESS, NO_TIME_LIMIT } from "../support/backend/bombs.ts";
import { metricsAt, sampleValue } from "../support/readers/metrics-text.ts";
import {
  CHUNKED,
  chunk,
  declared,
  RawConnection,
  renderHead,
  renderRequest,
} from "../support/service/raw-connection.ts";
import { startTestService, type TestService } from "../support/service/test-service.ts";

const MEBIBYTE = 1024 * 1024;
const RESETS = 40;
const AT_ONCE = 12;
const LEAVING = 10;
const LATEST_RESET_MILLISECONDS = 400;
/** The edge runs in this process, with its clients. */
const edgeBytes = () => process.memoryUsage.rss();
const MAX_GROWTH_BYTES = 128 * MEBIBYTE;

let service: TestService;

beforeAll(async () => {
  // On a busy machine, the largest bodies take minutes.
  const settings = { SERVICE_BODY_TIMEOUT_SECONDS: "900" };
  service = await startTestService({ settings, backendSettings: NO_TIME_LIMIT });
  return () => service.stop();
});

const metricOf = async ({ backend }: TestService, name: string) => sampleValue(await metricsAt(backend.url), name);

const endlessBody = (paddingBytes: number) => JSON.stringify({ source: ENDLESS, data: "x".repeat(paddingBytes) });

it("forty resets at random moments leave room, slots and memory as they were", async () => {
  expect((await service.render({ source: "x" })).status).toBe(200);
  const before = edgeBytes();
  let left = RESETS;
  const leave = async () => {
    while (left-- > 0) {
      const body = endlessBody(Math.random() < 0.2 ? Math.floor(Math.random() * MEBIBYTE) : 10);
      const client = await RawConnection.open(service.edge.url);
      const isChunked = Math.random() < 0.5;
      void client.write(renderHead(isChunked ? CHUNKED : declared(body.length)));
      const sent = body.slice(0, Math.random() < 0.3 ? Math.floor(Math.random() * body.length) : body.length);
      void client.write(isChunked ? Buffer.concat([chunk(sent), Buffer.from("0\r\n\r\n")]) : sent);
      // Any moment is the point: most of them are no state that can be seen.
      await delay(Math.random() * LATEST_RESET_MILLISECONDS);
      client.reset();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, leave));
  for (const name of ["service_renders_running", "service_renders_waiting", "service_temp_reserved_bytes"]) {
    await expect.poll(() => metricOf(service, name), { message: name }).toBe(0);
  }
  expect(edgeBytes() - before).toBeLessThan(MAX_GROWTH_BYTES);
  // One caller's share is two of the largest bodies and a little: if anything were held, the second would be rejected.
  const holders = await Promise.all([1, 2].map(() => RawConnection.open(service.edge.url)));
  const whole = holders.map((client) =>
    client.write(renderHead(declared(20 * MEBIBYTE)) + " ".repeat(20 * MEBIBYTE - 1)),
  );
  expect(await Promise.all(whole)).toEqual([true, true]);
  await Promise.all(holders.map((client) => client.write("x")));
  for (const client of holders) expect((await client.answer())?.status).toBe(400);
  expect((await service.render({ source: "x" })).status).toBe(200);
});

it("clients that close without a reset are noticed, and hold no slot", async () => {
  const shared = await startTestService({
    settings: { SERVICE_QUEUE_DEADLINE_SECONDS: "600", ...NO_TIME_LIMIT },
    backendSettings: { SERVICE_MAX_CONCURRENT_RENDERS: "2", ...NO_TIME_LIMIT },
  });
  onTestFinished(() => shared.stop());
  const request = renderRequest(endlessBody(10));
  const clients = await Promise.all(
    Array.from({ length: LEAVING }, () => RawConnection.open(shared.edge.url, request)),
  );
  await expect.poll(() => metricOf(shared, "service_renders_waiting")).toBe(LEAVING - 2);
  for (const client of clients) client.socket.destroy();
  for (const name of ["service_renders_running", "service_renders_waiting"]) {
    await expect.poll(() => metricOf(shared, name), { message: name }).toBe(0);
  }
});
