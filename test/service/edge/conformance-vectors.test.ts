/** The published vectors, sent to the edge on both platforms: what it takes, and by which code and rule it refuses the others. */
import { beforeAll, describe, expect, it } from "vitest";
import { FILES_VECTORS, OUTPUT_VECTORS } from "../../../rules/conformance-vectors.ts";
import { startOneEdge } from "../../support/service/edge-stage.ts";
import { ScriptedBackend } from "../../support/service/scripted-backend.ts";
import { EDGE_PLATFORMS } from "../../support/service/service-parts.ts";
import { clientOf } from "../../support/service/test-service.ts";

const nameOf = (value: unknown) => JSON.stringify(value).slice(0, 100);
const VECTORS = [
  ...FILES_VECTORS.map(({ keys, ...verdict }) => ({
    name: `keys ${nameOf(keys)}`,
    // `fromEntries` and not a literal: a key may be `__proto__`.
    body: { files: Object.fromEntries(keys.map((key) => [key, { encoding: "text", content: "x" }])) },
    verdict,
  })),
  ...OUTPUT_VECTORS.map(({ output, ...verdict }) => ({ name: `output ${nameOf(output)}`, body: { output }, verdict })),
];

describe.each(EDGE_PLATFORMS)("the edge on %s comes to the published verdict", (platform) => {
  let url: URL;

  beforeAll(async () => {
    const backend = await new ScriptedBackend().start();
    const edge = await startOneEdge(
      { SERVICE_BACKEND_URLS: backend.url.origin, SERVICE_MAX_INLINE_FILES: "1024" },
      platform,
    );
    url = edge.url;
    return async () => {
      await edge.stop();
      await backend.stop();
    };
  });

  it.each(VECTORS)("on $name", async ({ body, verdict }) => {
    const answer = await clientOf(url).render({ source: "x", ...body });
    const { code = null, context } = answer.ok ? {} : await answer.json();
    expect({ accepted: answer.ok, code, rule: context?.rule ?? null }).toEqual(verdict);
  });
});
