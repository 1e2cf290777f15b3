/** The memory of a backend under more bodies and outputs than it takes: at most what docs/operations.md says. */
import { readFile } from "node:fs/promises";
import { expect, it, onTestFinished } from "vitest";
import { NO_TIME_LIMIT } from "../support/backend/bombs.ts";
import { makeFakeTypst, VERSION_ANSWER, waitFor } from "../support/backend/fake-typst.ts";
import { residentBytes } from "../support/backend/processes.ts";
import { renderInit } from "../support/backend/test-backend.ts";
import { sendWithoutReading } from "../support/service/raw-connection.ts";
import { startBackendAlone } from "../support/service/test-service.ts";

const MEBIBYTE = 1024 ** 2;
const BODY_MEMORY_BYTES = 64 * MEBIBYTE;
const OUTPUT_MEMORY_BYTES = 16 * MEBIBYTE;

/** What the page says of the process itself. */
async function documentedOwnBytes(): Promise<number> {
  const page = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const megabytes = /The backend's own process needs up to (\d+) MB/.exec(page)?.[1];
  return Number(megabytes) * 1e6;
}

it("a backend under load takes the memory that docs/operations.md says, plus its budgets for bodies and outputs", async () => {
  const typst = await makeFakeTypst(
    `${VERSION_ANSWER}\ncat > /dev/null; ${waitFor("go")}; head -c ${MEBIBYTE} /dev/zero`,
  );
  const backend = await startBackendAlone({
    SERVICE_TYPST_BIN: typst.path,
    SERVICE_SANDBOX: "none",
    SERVICE_WARM_RENDERS: "0",
    ...NO_TIME_LIMIT,
    SERVICE_MAX_BODY_MEMORY_BYTES: String(BODY_MEMORY_BYTES),
    SERVICE_MAX_OUTPUT_MEMORY_BYTES: String(OUTPUT_MEMORY_BYTES),
  });
  let mostBytes = 0;
  const watching = setInterval(() => {
    mostBytes = Math.max(mostBytes, residentBytes(backend.process.pid ?? 0));
  }, 20);
  onTestFinished(() => clearInterval(watching));

  const body = JSON.stringify({ source: "x", data: "y".repeat(0.9 * MEBIBYTE), files: largeFiles() });
  const statuses: number[] = [];
  const answers = Array.from({ length: 36 }, async (_, index) => {
    const answer = await fetch(
      new URL("/v1/render", backend.url),
      renderInit(body, { headers: { "X-Service-Caller": `caller-${index % 6}` } }),
    );
    await answer.bytes();
    statuses.push(answer.status);
  });
  const readers = Array.from({ length: 40 }, () => sendWithoutReading(backend.url, { source: "x" }));
  // Refused at once, because the memory is full: as many as the budget holds go on waiting.
  await expect.poll(() => statuses).toContain(429);
  await typst.signal("go");
  await Promise.all(answers);
  expect(statuses).toContain(200);
  // On a busy machine, some bodies do not arrive in time.
  expect([200, 400, 429]).toEqual(expect.arrayContaining(statuses));
  for (const { socket } of readers) socket.destroy();
  expect(mostBytes).toBeGreaterThan(BODY_MEMORY_BYTES);
  expect(mostBytes).toBeLessThan((await documentedOwnBytes()) + BODY_MEMORY_BYTES + OUTPUT_MEMORY_BYTES);
});

/** Five megabytes in files. */
function largeFiles(): object {
  const file = { encoding: "text", content: "z".repeat(MEBIBYTE) };
  return Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, file]));
}
