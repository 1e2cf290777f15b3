/** `POST /v1/render` at the edge: what is rejected, what a backend gets, and which of its answers are accepted. */
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { FairLimit } from "../../../edge/body/fair-limit.ts";
import { BodyCollector } from "../../../protocol/body-collector.ts";
import { DEFAULT_LIMITS, limitsFingerprint } from "../../../rules/limits.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../../support/tokens.ts";
import { headOf } from "../answer-head.ts";
import { expectProblem, newEdge, sendRender, standInBackend } from "../send.ts";
import { stopClocks } from "../still-clock.ts";

const pdfAnswer = () => new Response("%PDF-", headOf("file"));

/** @returns how many bytes each body still takes of those that the edge has begun to collect since. */
function watchCollectors(): () => number[] {
  const add = vi.spyOn(BodyCollector.prototype, "add");
  return () =>
    [...new Set(add.mock.contexts)].map((one) => (one instanceof BodyCollector ? one.finish().buffer.byteLength : -1));
}

/** A body of no declared length. */
const streamOf = (body: string | Uint8Array<ArrayBuffer>) => new Blob([body]).stream();

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a valid request", () => {
  it("reaches a backend as the caller's own bytes, with the internal token and the request id", async () => {
    const requests = standInBackend(pdfAnswer);
    const body = ' {"source":"\\u0041", "data": 9007199254740993.0 } ';
    const answer = await sendRender(body);
    expect(answer.status).toBe(200);
    expect(requests).toHaveLength(1);
    const [request] = requests;
    expect(request?.body).toBe(body);
    expect(request?.url).toBe("http://127.0.0.1:2/v1/render");
    expect(Object.fromEntries(request?.headers ?? [])).toMatchObject({
      "content-type": "application/json",
      "x-service-backend-token": BACKEND_TOKEN,
      "x-request-id": answer.headers.get("X-Request-Id"),
      "x-service-limits": limitsFingerprint(DEFAULT_LIMITS),
      "x-service-caller": "caller-1",
      "x-forwarded-host": "render.example",
      "x-forwarded-proto": "https",
    });
    expect(request?.headers.has("X-Service-Api-Token")).toBe(false);
  });

  it.each([
    ["/print", "/print"],
    ["/../print", ""],
  ])("and its problems have the path below which a proxy says that it serves: %s", async (forwarded, prefix) => {
    const requests = standInBackend(pdfAnswer);
    const headers = { "X-Forwarded-Prefix": forwarded };
    await sendRender('{"source":"x"}', headers);
    expect(requests[0]?.headers.get("X-Forwarded-Prefix") ?? "").toBe(prefix);
    const { instance } = await expectProblem(await sendRender("{", headers), "invalid_request");
    expect(new URL(instance).pathname).toBe(`${prefix}/v1/render`);
  });

  it("names the caller of its token, whatever the request's headers say", async () => {
    const requests = standInBackend(pdfAnswer);
    const { render } = newEdge({ SERVICE_API_TOKENS: `first, billing:${API_TOKEN}` });
    expect((await render(undefined, { "X-Service-Caller": "me" })).status).toBe(200);
    expect(requests[0]?.headers.get("X-Service-Caller")).toBe("billing");
  });

  it.each([
    ["application/pdf", {}, 'inline; filename="a b.pdf"', null],
    [
      "image/svg+xml",
      { format: "svg" },
      'inline; filename="a b.svg"',
      expect.stringMatching(/default-src 'none'.*sandbox/),
    ],
    ["application/zip", { format: "svg", archive: "zip" }, 'attachment; filename="a b.zip"', null],
  ])(
    "gets a file with the header fields of what it asks for, %s, whatever the backend says",
    async (type, output, name, policy) => {
      standInBackend(
        () =>
          new Response("bytes", {
            headers: {
              "Content-Type": "image/png",
              "Content-Disposition": 'attachment; filename="../evil.exe"',
              "Cache-Control": "public, max-age=9999",
              "Content-Security-Policy": "default-src *",
              "X-Content-Type-Options": "none",
              "X-Backend-Secret": "internal",
            },
          }),
      );
      const answer = await sendRender(JSON.stringify({ source: "x", output: { ...output, filename: "a\u0000 b" } }));
      expect(answer.headers.get("Content-Type")).toBe(type);
      expect(answer.headers.get("Content-Disposition")).toBe(name);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
      expect(answer.headers.get("Content-Security-Policy")).toEqual(policy);
      expect(answer.headers.has("X-Backend-Secret")).toBe(false);
      expect(await answer.text()).toBe("bytes");
    },
  );

  it("gets a problem of the backend with the header fields of a problem", async () => {
    const fields = { "Cache-Control": "public, max-age=9999", "Content-Disposition": "attachment", "Retry-After": "9" };
    const head = headOf("template_compile_failed", fields);
    standInBackend(() => new Response('{"code":"template_compile_failed"}', head));
    const answer = await sendRender('{"source":"x"}');
    expect([answer.status, answer.headers.get("Content-Type")]).toEqual([422, "application/problem+json"]);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect([answer.headers.has("Content-Disposition"), answer.headers.has("Retry-After")]).toEqual([false, false]);
    expect(await answer.json()).toEqual({ code: "template_compile_failed" });
  });

  it("no longer counts as an upload while a backend renders it, and counts as a render", async () => {
    const acquire = vi.spyOn(FairLimit.prototype, "acquire");
    const held: number[] = [];
    standInBackend(() => {
      for (const limit of acquire.mock.contexts) if (limit instanceof FairLimit) held.push(limit.held);
      return pdfAnswer();
    });
    await sendRender('{"source":"x"}');
    const [uploads, renders] = [0, 1];
    expect(held).toEqual([uploads, renders]);
  });

  it.each([
    ["a file over the limit", "application/pdf", 200],
    ["a page of a proxy", "text/html", 502],
  ])("has the connection of an answer freed that it does not get: %s", async (_what, type, status) => {
    let cancelled = 0;
    const headers = { "Content-Type": type, "Content-Length": String(DEFAULT_LIMITS.max_output_bytes + 1) };
    const body = () => new ReadableStream({ cancel: () => void cancelled++ });
    const requests = standInBackend(() => new Response(body(), { status, headers }));
    expect((await sendRender('{"source":"x"}')).status).toBe(status === 200 ? 413 : 503);
    expect([requests.length > 0, cancelled]).toEqual([true, requests.length]);
  });
});

describe("a rejected request", () => {
  it.each([
    ["is not valid", '{"source":"x"', {}],
    ["has another media type", '{"source":"x"}', { "Content-Type": "text/plain" }],
    [
      "is over the limit",
      new Uint8Array(DEFAULT_LIMITS.max_request_body_bytes + 1),
      { "Transfer-Encoding": "chunked" },
    ],
  ])("is not kept until the garbage collector comes, when it %s", async (_how, body, headers) => {
    const collected = watchCollectors();
    expect((await sendRender(streamOf(body), headers)).ok).toBe(false);
    expect(collected()).toEqual([0]);
  });

  it("is not kept when its client leaves", async () => {
    const collected = watchCollectors();
    const client = new AbortController();
    const { promise: neverAnswers } = Promise.withResolvers<Response>();
    const asked = vi.fn(() => neverAnswers);
    vi.stubGlobal("fetch", asked);
    void newEdge().render(undefined, {}, { signal: client.signal });
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    client.abort();
    await vi.waitFor(() => expect(collected()).toEqual([0]));
  });

  it("is answered after a bounded time, although the rest of its body never ends", async () => {
    stopClocks();
    const startedAt = Date.now();
    const body = new ReadableStream({
      pull(controller) {
        vi.advanceTimersByTime(100);
        controller.enqueue(new Uint8Array(1));
      },
    });
    await expectProblem(await sendRender(body, { "X-Service-Api-Token": "wrong" }), "forbidden");
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(5000);
    expect(Date.now() - startedAt).toBeLessThan(6000);
  });

  it("is read on for 32 clients without a token at most, while each sends something within half a second", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const clients = Array.from({ length: 34 }, () => new AbortController());
    onTestFinished(() => {
      for (const client of clients) client.abort();
    });
    const { render } = newEdge();
    const refused = ({ signal }: AbortController) =>
      render(new IdentityTransformStream().readable, { "X-Service-Api-Token": "wrong" }, { signal });
    const isWaiting = async (answer: Promise<Response>) =>
      (await Promise.race([answer, scheduler.wait(20)])) === undefined;
    const answers = clients.slice(0, 33).map(refused);
    const waiting = await Promise.all(answers.map(isWaiting));
    expect(waiting).toEqual(answers.map((_, index) => index < 32));
    // A client that leaves makes room.
    clients[7]?.abort();
    expect(await Promise.all(clients.slice(33).map((client) => isWaiting(refused(client))))).toEqual([true]);
    const [first = expect.unreachable()] = answers;
    vi.advanceTimersByTime(499);
    expect(await isWaiting(first)).toBe(true);
    vi.advanceTimersByTime(1);
    expect((await first).status).toBe(403);
  });

  it("has its size checked before its media type, and its media type and coding before its JSON", async () => {
    const limit = DEFAULT_LIMITS.max_request_body_bytes;
    const tooLarge = new Uint8Array(limit + 1);
    const { context } = await expectProblem(
      await sendRender(tooLarge, { "Content-Type": "text/plain" }),
      "request_too_large",
    );
    expect(context).toEqual({ limit, declared_size: limit + 1 });
    for (const [name, value, told] of [
      ["Content-Type", "text/plain", "application/json"],
      ["Content-Encoding", "gzip", "without Content-Encoding"],
    ] as const) {
      const { detail } = await expectProblem(await sendRender("{", { [name]: value }), "invalid_request");
      expect(detail).toContain(told);
    }
  });
});
