/**
 * The largest bodies, several at once, through the real edge: each is validated or rejected for lack of memory, and the
 * isolate survives.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestService, type TestService } from "../support/service/test-service.ts";

const MEBIBYTE = 1024 * 1024;

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(() => service.stop());

/**
 * A body of nearly 20 MiB that is rejected at its very end, so that it is validated to the end and nothing is rendered.
 */
function largeBody(): string {
  const content = "QUJD".repeat(MEBIBYTE / 4);
  const files = Object.fromEntries(
    Array.from({ length: 19 }, (_, index) => [`image-${index}.png`, { encoding: "base64", content }]),
  );
  return JSON.stringify({ files, source: "x", output: { format: "svg", ppi: 72 } });
}

it("validates six bodies of 20 MiB at once, or rejects some with a problem, and goes on serving", async () => {
  const body = largeBody();
  const answers = await Promise.all(Array.from({ length: 6 }, () => service.render(body)));
  const verdicts = await Promise.all(
    answers.map(async (answer) => {
      const { code } = JSON.parse(await answer.text());
      return { status: answer.status, code, retryAfter: answer.headers.get("Retry-After") };
    }),
  );
  const validated = verdicts.filter(({ status }) => status === 400);
  expect(validated.length).toBeGreaterThanOrEqual(3);
  for (const { status, code, retryAfter } of verdicts) {
    if (status === 400) expect(code).toBe("invalid_request");
    else expect([status, code, retryAfter]).toEqual([429, "render_queue_full", expect.stringMatching(/^[1-9]\d*$/)]);
  }
  expect((await service.render({ source: "= Still here" })).status).toBe(200);
});
