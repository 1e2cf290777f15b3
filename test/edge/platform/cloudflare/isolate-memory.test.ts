/** What an isolate may hold: the bounds add up to less than Cloudflare allows. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import {
  BOUNDS_OF_ISOLATE,
  ISOLATE_BYTES,
  LARGEST_BODY_BYTES_IN_ISOLATE,
} from "../../../../edge/platform/cloudflare/isolate-memory.ts";
import app from "../../../../edge/platform/cloudflare/worker.ts";
import { BodyCollector } from "../../../../protocol/body-collector.ts";
import { BASE_URL, expectProblem } from "../../send.ts";

it("all that an isolate may hold is less than Cloudflare allows", () => {
  const sum = Object.values(BOUNDS_OF_ISOLATE).reduce((all, bytes) => all + bytes, 0);
  expect(sum).toBeLessThan(ISOLATE_BYTES);
});

it("a body that grows has at most the memory beside it that is allowed for that", () => {
  for (const declared of [null, LARGEST_BODY_BYTES_IN_ISOLATE, 20 * 1024 ** 2]) {
    const collector = new BodyCollector(declared, LARGEST_BODY_BYTES_IN_ISOLATE);
    const capacities = [0];
    for (let size = 0; size < (declared ?? LARGEST_BODY_BYTES_IN_ISOLATE); size += 65_536) {
      const capacity = collector.capacityWith(65_536);
      if (capacity !== capacities.at(-1)) capacities.push(capacity);
      collector.add(new Uint8Array(65_536));
    }
    expect(capacities.at(-2)).toBeLessThanOrEqual(BOUNDS_OF_ISOLATE.growth);
    collector.free();
  }
});

it.each([
  [LARGEST_BODY_BYTES_IN_ISOLATE, true],
  [LARGEST_BODY_BYTES_IN_ISOLATE + 1, false],
])("a limit of %i on bodies is accepted: %s", async (bytes, isAccepted) => {
  const bindings = { ...env, SERVICE_MAX_REQUEST_BODY_BYTES: String(bytes) };
  const answer = await app.fetch(new Request(`${BASE_URL}/health`), bindings, createExecutionContext());
  if (isAccepted) expect(answer.status).toBe(200);
  else await expectProblem(answer, "service_unavailable");
});
