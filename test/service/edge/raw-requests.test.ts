/** What the edge answers to requests as bytes on a connection, on both platforms: `raw-requests.ts` has the table. */
import { beforeAll, describe, expect, it } from "vitest";
import { startOneEdge } from "../../support/service/edge-stage.ts";
import { DIFFERENCES, differenceInNode, RAW_REQUESTS } from "../../support/service/raw-requests.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { type RawOutcome, sendRawRequest } from "../../support/service/send-raw-request.ts";
import { EDGE_PLATFORMS, type EdgePlatform } from "../../support/service/service-parts.ts";

/** So many at a time: some wait for a limit of the server. */
const AT_ONCE = 8;
/** Of the same answers, those whose text differs: a parser stops at another place, or a scheme is read or not. */
const OTHER_BYTES = ["a forwarded scheme", "a smuggled request behind a length"];

const outcomes: Record<EdgePlatform, Map<string, RawOutcome>> = { node: new Map(), cloudflare: new Map() };
const urls: Partial<Record<EdgePlatform, URL>> = {};

beforeAll(async () => {
  const backend = await new ScriptedBackend().start();
  const edges = await Promise.all(
    EDGE_PLATFORMS.map(async (platform) => {
      const edge = await startOneEdge({ SERVICE_BACKEND_URLS: backend.url.origin }, platform);
      urls[platform] = edge.url;
      const left = [...RAW_REQUESTS];
      const sendOneAfterAnother = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) {
          outcomes[platform].set(next.name, await sendRawRequest(edge.url, next));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, sendOneAfterAnother));
      return edge;
    }),
  );
  return async () => {
    for (const edge of edges) await edge.stop();
    await backend.stop();
  };
});

describe.each(EDGE_PLATFORMS)("the edge on %s", (platform) => {
  it.each(RAW_REQUESTS)("answers to $name as the table says", (row) => {
    const { answers } = (platform === "node" && differenceInNode(row)) || row;
    expect(outcomes[platform].get(row.name)?.answers).toBe(answers);
  });

  it("is still there after all of them", async () => {
    expect((await fetch(new URL("/health", urls[platform]))).status).toBe(200);
  });
});

it.each(RAW_REQUESTS.filter((row) => !(differenceInNode(row) || OTHER_BYTES.includes(row.name))))(
  "the same bytes are answered on both platforms to $name",
  ({ name }) => {
    expect(outcomes.node.get(name)?.bytes).toBe(outcomes.cloudflare.get(name)?.bytes);
  },
);

it("each allowed difference is one of a request of the table", () => {
  const names = RAW_REQUESTS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([...Object.keys(DIFFERENCES), ...OTHER_BYTES]));
});
