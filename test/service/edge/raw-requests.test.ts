/** What the edge answers to requests as bytes on a connection: `raw-requests.ts` has the table. */
import { beforeAll, describe, expect, it } from "vitest";
import { startOneEdge } from "../../support/service/edge-stage.ts";
import { RAW_REQUESTS } from "../../support/service/raw-requests.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { type RawOutcome, sendRawRequest } from "../../support/service/send-raw-request.ts";

/** So many at a time: some wait for a limit of the server. */
const AT_ONCE = 8;

const outcomes = new Map<string, RawOutcome>();
let url: URL;

beforeAll(async () => {
  const backend = await new ScriptedBackend().start();
  const edge = await startOneEdge({ SERVICE_BACKEND_URLS: backend.url.origin });
  url = edge.url;
  const left = [...RAW_REQUESTS];
  const sendOneAfterAnother = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      outcomes.set(next.name, await sendRawRequest(url, next));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendOneAfterAnother));
  return async () => {
    await edge.stop();
    await backend.stop();
  };
});

describe("the edge", () => {
  it.each(RAW_REQUESTS)("answers $answers to $name", ({ name, answers }) => {
    expect(outcomes.get(name)?.answers).toBe(answers);
  });

  it("is still there after all of them", async () => {
    expect((await fetch(new URL("/health", url))).status).toBe(200);
  });
});
