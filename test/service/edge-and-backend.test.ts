/** The edge and the backend together: forwarded responses and problems, and bodies that are not as long as they say. */
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { expectProblem } from "../support/problems.ts";
import { readDisposition } from "../support/readers/content-disposition.ts";
import { parseMetrics, sampleValue } from "../support/readers/metrics-text.ts";
import { readPdf } from "../support/readers/pdf-reader.ts";
import { backendRenderHead, declared, RawConnection, renderRequest } from "../support/service/raw-connection.ts";
import { EDGE_PLATFORMS } from "../support/service/service-parts.ts";
import { startSlowLink } from "../support/service/slow-link.ts";
import { type SharedService, sharedService, startTestService } from "../support/service/test-service.ts";

const BODY = '{"source":"x"}';

describe.each(EDGE_PLATFORMS)("with the edge on %s", (platform) => {
  let service: SharedService;

  beforeAll(async () => {
    service = await sharedService({}, platform);
  });

  describe("a rendered file", () => {
    it("comes through the edge with the backend's headers and the edge's request id", async () => {
      const answer = await service.render({
        source: "Hello #data.name",
        data: { name: "Zoë" },
        output: { filename: "Größe.pdf" },
      });
      expect(answer.status).toBe(200);
      expect(readDisposition(answer)).toMatchObject({ type: "inline", name: "Größe.pdf" });
      expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect(answer.headers.get("X-Request-Id")).toMatch(/^[0-9a-f-]{36}$/);
      expect((await readPdf(await answer.bytes())).pageTexts).toEqual(["Hello Zoë"]);
    });

    it("reveals nothing about the backend in its headers", async () => {
      const answer = await service.render({ source: "x" });
      await answer.bytes();
      const names = [...answer.headers.keys()];
      for (const name of ["server", "x-powered-by", "x-service-backend-token", "x-service-limits"]) {
        expect(names).not.toContain(name);
      }
    });

    it("is checked against the same limits by edge and backend", async () => {
      await (await service.render({ source: "x" })).bytes();
      const samples = parseMetrics(await (await service.send("/metrics")).text());
      expect(sampleValue(samples, "service_limits_mismatches_total", {})).toBe(0);
    });
  });

  describe("a problem", () => {
    it.each([
      ["the edge's own", { source: "" }, "invalid_request"],
      ["the backend's", { source: "#nothing" }, "template_compile_failed"],
      [
        "too many pages, known to the backend alone",
        { source: "#for n in range(65) { page[] }", output: { format: "svg", archive: "zip" } },
        "too_many_output_files",
      ],
    ] as const)("names the edge's URL and the request id: %s", async (_what, body, code) => {
      const answer = await service.render(body);
      const requestId = answer.headers.get("X-Request-Id");
      const { instance } = await expectProblem(answer, code);
      expect(instance).toBe(`${service.edge.url.origin}/v1/render#${requestId}`);
    });

    it("has a new request id each time, whatever the client sends", async () => {
      const id = "0b6cb2a4-6e0f-4a0b-9d5c-3a3c7f4f7b11";
      const answers = await Promise.all(
        [1, 2].map(() => service.send("/nowhere", { headers: { "X-Request-Id": id } })),
      );
      const ids = answers.map(({ headers }) => headers.get("X-Request-Id"));
      expect(new Set([...ids, id]).size).toBe(3);
      for (const answer of answers) await expectProblem(answer, "not_found");
    });
  });
});

// Of connections on Cloudflare, the edge knows nothing.
it("a POST on an idle connection is answered shortly before its end is announced, though each way takes 400 ms", async () => {
  const { edge, backend, stop } = await startTestService({ settings: { SERVICE_IDLE_CONNECTION_SECONDS: "1" } });
  onTestFinished(stop);
  const statuses = [
    { url: edge.url, request: renderRequest(BODY) },
    { url: backend.url, request: backendRenderHead(declared(BODY.length)) + BODY },
  ].map(async ({ url, request }) => {
    const link = await startSlowLink(Number(url.port), { delayMilliseconds: 400 });
    onTestFinished(link.stop);
    return lastMomentStatuses(link.url, request);
  });
  expect(await Promise.all(statuses)).toEqual([
    [200, 200],
    [200, 200],
  ]);
});

/** Sends a request again in the last third of the second for which its connection is kept. On a busy machine that may be missed. */
async function lastMomentStatuses(url: URL, request: string): Promise<unknown[]> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const client = await RawConnection.open(url, request);
    const first = await client.nextAnswer();
    expect(first?.headers.get("Keep-Alive")).toBe("timeout=1");
    const answeredAt = performance.now();
    await delay(700);
    await client.write(request);
    const isInTime = performance.now() - answeredAt < 1000;
    const second = await client.nextAnswer();
    if (isInTime) return [first?.status, second?.status];
  }
  throw new Error("the machine is too busy to write within a third of a second");
}
