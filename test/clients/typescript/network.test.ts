/** What only the TypeScript client does over real connections: aborts, streams, bounds on files, errors of `fetch`. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  ServiceClient,
  type ServiceClientOptions,
  ServiceUnreachableError,
} from "../../../clients/typescript/client.ts";
import { MAX_OUTPUT_BYTES } from "../../../clients/typescript/constraints-cache.ts";
import { longestRenderMilliseconds } from "../../../edge/body/read-body.ts";
import { EDGE_INTEGER_SETTINGS } from "../../../edge/settings.ts";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { BACKEND_TIMEOUT_SETTING } from "../../../rules/render-time.ts";
import { LOW_LIMITS } from "../../support/clients/hostile-answers.ts";
import {
  answer,
  full,
  PDF,
  sendPdf,
  startScript,
  startScriptedService,
  WHOLE_PDF,
} from "../../support/clients/scripted-service.ts";
import { API_TOKEN, UNREACHABLE_URL } from "../../support/tokens.ts";

const makeClient = (url: string, options: Partial<ServiceClientOptions> = {}) =>
  new ServiceClient({ url, token: API_TOKEN, checkBeforeSending: false, ...options });

/** A client whose connections are those of `fetch`, and that asks once. */
const makeClientOf = (
  fetch: typeof globalThis.fetch,
  url = UNREACHABLE_URL,
  options: Partial<ServiceClientOptions> = {},
) => makeClient(url, { fetch, retry: false, ...options });

const REQUEST = { source: "x" };
const JSON_TYPE = { "Content-Type": "application/json" };

async function renderFile(client: ServiceClient, signal?: AbortSignal) {
  const file = await client.render(REQUEST, signal && { signal });
  if (!file.ok) throw new Error("no file");
  return file;
}

it.each([502, 200])("an answer %i of something else is not read to its end", async (status) => {
  const cancel = vi.fn();
  const headers = { "Content-Type": "text/html" };
  const client = makeClientOf(async () => new Response(new ReadableStream({ cancel }), { status, headers }));
  await expect(client.render(REQUEST)).rejects.toThrow();
  expect(cancel).toHaveBeenCalledOnce();
});

it("an answer without a body has lost it", async () => {
  const client = makeClientOf(async () => new Response(null, { headers: PDF }));
  await expect(client.render(REQUEST)).rejects.toMatchObject({ reason: "connection_broken" });
});

describe("a service that cannot be reached", () => {
  it("is asked again if the file breaks off, unless that is too large to be held: then reading it ends with an error", async () => {
    const held = 64 * 1024 * 1024;
    const breakAfter = (bytes: number) => (response: ServerResponse) => {
      response.writeHead(200, { ...PDF, "Content-Length": String(2 * held) });
      response.write(Buffer.concat([Buffer.from("%PDF-"), Buffer.alloc(bytes)]), () => response.destroy());
    };
    const server = await startScript(breakAfter(1000), sendPdf, breakAfter(held));
    const client = makeClient(server.url);
    expect(await (await renderFile(client)).bytes()).toHaveLength(WHOLE_PDF.length);
    expect(server.requests).toHaveLength(2);
    const large = await renderFile(client);
    await expect(large.bytes()).rejects.toThrow(ServiceUnreachableError);
    expect(server.requests).toHaveLength(3);
  });
});

describe("a service that takes a request and goes silent", () => {
  it("before the constraints or within them does not keep a render from being sent", async () => {
    for (const stall of [() => {}, (response: ServerResponse) => void response.writeHead(200, JSON_TYPE).write("{")]) {
      const { url } = await startScript(stall, sendPdf);
      // With retries, for a machine that is too busy to answer within this time.
      const client = makeClient(url, { silenceTimeoutSeconds: 0.2, checkBeforeSending: true });
      expect(await (await renderFile(client)).bytes()).toEqual(new TextEncoder().encode(WHOLE_PDF));
    }
  });

  it("is told after 20 seconds, and given 300 of them, a minute for the constraints: more than a deployment takes by default", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const onSilence = vi.fn();
    const client = makeClientOf(() => new Promise(() => {}), UNREACHABLE_URL, { onSilence });
    const ends = [client.render(REQUEST), client.constraints()].map((call) => call.catch((error) => error.message));
    await vi.advanceTimersByTimeAsync(19_999);
    expect(onSilence).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onSilence.mock.calls).toEqual([
      [{ silentSeconds: 20, timeoutSeconds: 300 }],
      [{ silentSeconds: 20, timeoutSeconds: 60 }],
    ]);
    await vi.advanceTimersByTimeAsync(280_000);
    const [rendering, constraints] = await Promise.all(ends);
    expect(rendering).toContain("300 s");
    expect(constraints).toContain("60 s");
    const { bodyTimeoutSeconds } = EDGE_INTEGER_SETTINGS;
    const { default: backendSeconds } = BACKEND_TIMEOUT_SETTING;
    expect(longestRenderMilliseconds(bodyTimeoutSeconds.default, backendSeconds)).toBeLessThan(300_000);
  });

  it("is not one that sends a little now and then, or whose file nobody reads", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { readable, writable } = new TransformStream<Uint8Array<ArrayBuffer>>();
    const writer = writable.getWriter();
    const client = makeClientOf(async () => new Response(readable, { headers: PDF }));
    const send = (text: string) => void writer.write(new TextEncoder().encode(text));
    send("%PDF-");
    const rendering = renderFile(client);
    for (const text of ["1.7\n", "%%", "EOF"]) {
      await vi.advanceTimersByTimeAsync(299_999);
      send(text);
    }
    await vi.advanceTimersByTimeAsync(299_999);
    void writer.close();
    const file = await rendering;
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(new TextDecoder().decode(await file.bytes())).toBe(WHOLE_PDF);
  });
});

describe("an abort", () => {
  const ABORTED = new Error("enough");

  it("before the call sends nothing", async () => {
    const server = await startScript(sendPdf);
    const signal = AbortSignal.abort(ABORTED);
    for (const client of [makeClient(server.url), makeClient(server.url, { retry: false })]) {
      await expect(client.render(REQUEST, { signal })).rejects.toThrow("enough");
      await expect(client.constraints({ signal })).rejects.toThrow("enough");
    }
    expect(server.requests).toHaveLength(0);
  });

  it("ends the wait for a free slot", async () => {
    const server = await startScript(full(30));
    const controller = new AbortController();
    const onRetry = () => controller.abort(ABORTED);
    const rendering = makeClient(server.url).render(REQUEST, { signal: controller.signal, onRetry });
    await expect(rendering).rejects.toThrow("enough");
    expect(server.requests).toHaveLength(1);
  });

  it("during the render closes the connection", async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> | undefined;
    const server = await startScript((response) => {
      closed = once(response, "close");
      controller.abort(ABORTED);
    });
    const rendering = makeClient(server.url, { retry: false }).render(REQUEST, { signal: controller.signal });
    await expect(rendering).rejects.toThrow("enough");
    await closed;
    expect(server.requests).toHaveLength(1);
  });

  it("while the file arrives ends it", async () => {
    const controller = new AbortController();
    const server = await startScript((response) => {
      response.writeHead(200, { ...PDF, "Content-Length": "1000" });
      response.write("%PDF-", () => controller.abort(ABORTED));
    });
    await expect(renderFile(makeClient(server.url), controller.signal)).rejects.toThrow("enough");
    expect(server.requests).toHaveLength(1);
  });
});

describe("a file", () => {
  it("may have no more bytes than any deployment sends if the constraints are not known", async () => {
    expect(MAX_OUTPUT_BYTES).toBe(LIMIT_SETTINGS.max_output_bytes.max);
    const server = await startScriptedService(sendPdf, LOW_LIMITS);
    const client = makeClient(server.url);
    const file = await renderFile(client);
    expect(file.maxBytes).toBe(MAX_OUTPUT_BYTES);
    expect(await client.constraints()).toMatchObject({ ok: true });
    expect(await client.render(REQUEST)).toMatchObject({ maxBytes: LOW_LIMITS.max_output_bytes });
    // The limit may have been raised since then.
    const later = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 301_000);
    onTestFinished(() => later.mockRestore());
    expect(await client.render(REQUEST)).toMatchObject({ maxBytes: MAX_OUTPUT_BYTES });
    later.mockRestore();
    const lying = await startScriptedService(sendPdf, { ...LOW_LIMITS, max_output_bytes: 1e15 });
    const checking = makeClient(lying.url, { checkBeforeSending: true });
    expect(await checking.render(REQUEST)).toMatchObject({ maxBytes: MAX_OUTPUT_BYTES });
  });

  it("may have as many bytes as the deployment allows", async () => {
    const body = `%PDF-1.7${" ".repeat(LOW_LIMITS.max_output_bytes - WHOLE_PDF.length)}${WHOLE_PDF.slice(8)}`;
    const server = await startScriptedService(answer(200, PDF, body), LOW_LIMITS);
    const file = await renderFile(makeClient(server.url, { checkBeforeSending: true }));
    expect(await file.bytes()).toHaveLength(LOW_LIMITS.max_output_bytes);
  });
});
