/** The memory for request bodies: when it is free again. How callers share it: `causes.test.ts`. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, onTestFinished } from "vitest";
import { NO_TIME_LIMIT } from "../../support/backend/bombs.ts";
import { makeFakeTypst } from "../../support/backend/fake-typst.ts";
import { textFile } from "../../support/backend/request-files.ts";
import { startTemporaryBackend } from "../../support/backend/test-backend.ts";
import { sendWithoutReading } from "../../support/service/raw-connection.ts";

const MEBIBYTE = 1024 ** 2;

it("the body of a request is not kept in memory while the output is delivered", async () => {
  const typst = await makeFakeTypst(`cat > /dev/null; head -c ${24 * MEBIBYTE} /dev/zero`);
  const backend = await startTemporaryBackend({
    ...NO_TIME_LIMIT,
    SERVICE_TYPST_BIN: typst.path,
    // On a busy machine the first delivery waits long for the last render.
    SERVICE_QUEUE_DEADLINE_SECONDS: "600",
    SERVICE_DELIVERY_SILENCE_SECONDS: "600",
    SERVICE_DELIVERY_TIMEOUT_SECONDS: "600",
  });
  const file = textFile("z".repeat(MEBIBYTE));
  const files = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`f${index}`, file]));
  setFlagsFromString("--expose-gc");
  const collectGarbage: unknown = runInNewContext("gc");
  const heldBytes = () => {
    if (typeof collectGarbage === "function") collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = heldBytes();
  // One after the other: several at once are not read or written in time on a busy machine, and no setting gives them more.
  for (let count = 1; count <= 3; count++) {
    const { socket } = sendWithoutReading(backend.url, { source: "x", files });
    onTestFinished(() => void socket.destroy());
    await expect.poll(() => backend.metric("service_deliveries_underway")).toBe(count);
  }
  // Three bodies of 15 MB would be 45 MB.
  await expect.poll(() => heldBytes() - before).toBeLessThan(20 * MEBIBYTE);
});
