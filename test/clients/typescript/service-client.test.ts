/** The client against the running service: what is rendered, what is rejected, and where. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  binaryFile,
  jsonText,
  type RenderRequest,
  ServiceClient,
  type ServiceClientOptions,
  type StoredConstraints,
  textFile,
} from "../../../clients/typescript/client.ts";
import { sharedService } from "../../support/service/test-service.ts";
import { API_TOKEN } from "../../support/tokens.ts";

/** The red pixel of a 1 × 1 PNG. */
const PIXEL = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC",
);

const service = await sharedService({ SERVICE_MAX_INLINE_FILES: "2" });

function makeClient(options: Partial<ServiceClientOptions> = {}): ServiceClient {
  return new ServiceClient({ url: service.edge.url, token: API_TOKEN, ...options });
}

/** A client that notes the method and path of each request, with the entity tag that it carries. */
function makeWatchedClient(options: Partial<ServiceClientOptions> = {}) {
  const sent: string[] = [];
  const statuses: number[] = [];
  const client = makeClient({
    ...options,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const isConditional = request.headers.has("If-None-Match");
      sent.push(`${request.method} ${new URL(request.url).pathname}${isConditional ? " if changed" : ""}`);
      const response = await fetch(input, init);
      statuses.push(response.status);
      return response;
    },
  });
  return { client, sent, statuses };
}

describe("a rendered file", () => {
  it("comes with its content type, name, size and request id", async () => {
    const file = await makeClient().render({ source: "= Hello", output: { filename: "Grüße" } });
    if (!file.ok) throw new Error(file.problem.detail);
    expect(file).toMatchObject({ contentType: "application/pdf", filename: "Grüße.pdf" });
    expect(file.requestId).toMatch(/^[0-9a-f-]{36}$/);
    const bytes = await file.bytes();
    expect(new TextDecoder().decode(bytes.subarray(0, 5))).toBe("%PDF-");
    expect(file.sizeBytes).toBe(bytes.length);
  });

  it("can be read as a stream, and read once", async () => {
    const file = await makeClient().render({ source: "#lorem(5)", output: { format: "svg" } });
    if (!file.ok) throw new Error(file.problem.detail);
    let text = "";
    for await (const chunk of file.body.pipeThrough(new TextDecoderStream())) text += chunk;
    expect(text).toMatch(/^<svg/);
    await expect(file.bytes()).rejects.toThrow("has already been read");
  });

  it("is made of text files, binary files and data", async () => {
    const source = `
      #import "lib/greet.typ": greet
      #assert.eq(greet(data.name), "Hello Ada")
      #assert.eq(data.items.len(), 2)
      #image("pixel.png")`;
    const result = await makeClient().render({
      source,
      files: { "lib/greet.typ": textFile('#let greet(name) = "Hello " + name'), "pixel.png": binaryFile(PIXEL) },
      data: { name: "Ada", items: [1, undefined], none: undefined },
    });
    expect(result).toMatchObject({ ok: true });
  });
});

describe("data as JSON text", () => {
  it("must be JSON, so that it cannot reach into the request around it", () => {
    expect(() => jsonText('1,"output":{"format":"png"}')).toThrow(SyntaxError);
    expect(() => jsonText("")).toThrow(SyntaxError);
  });

  it("is all of data, and not a part of it", async () => {
    await expect(makeClient().render({ source: "x", data: { part: jsonText("1") } })).rejects.toThrow(TypeError);
  });
});

describe("a request that the rules reject", () => {
  const invalid: RenderRequest = { source: "x", output: { pages: "5-2" } };

  it("is not sent: the problem is the service's own, without a request id", async () => {
    const { client, sent } = makeWatchedClient();
    const result = await client.render(invalid);
    expect(result).toMatchObject({ ok: false, checkedLocally: true });
    expect(sent).toEqual(["GET /v1/constraints"]);
    const unchecked = await makeClient({ checkBeforeSending: false }).render(invalid);
    if (result.ok || unchecked.ok) throw new Error("the request was rendered");
    expect(unchecked.checkedLocally).toBe(false);
    const { instance, requestId, ...answered } = unchecked.problem;
    expect(result.problem).toEqual({ ...answered, instance: null, requestId: null });
    expect(instance).toBe(`${service.edge.url}v1/render#${requestId}`);
  });

  it("is rejected by the limits of the deployment, at the limit and one past it", async () => {
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.txt`, textFile("")]));
    const client = makeClient();
    expect(await client.check({ source: "x", files: files(2) })).toEqual({ verdict: "accepted" });
    expect(await client.check({ source: "x", files: files(3) })).toMatchObject({
      verdict: "refused",
      problem: { code: "invalid_file_data", status: 400, context: { count: 3, limit: 2 } },
    });
  });
});

describe("the constraints", () => {
  it("are fetched once", async () => {
    const { client, sent } = makeWatchedClient();
    const result = await client.constraints();
    expect(result).toMatchObject({ ok: true, constraints: { limits: { max_inline_files: 2 } } });
    await client.check({ source: "x" });
    expect(await client.render({ source: "x" })).toMatchObject({ ok: true });
    expect(sent).toEqual(["GET /v1/constraints", "POST /v1/render"]);
  });

  it("are compared by their entity tag when five minutes have passed, and not before", async () => {
    const { client, statuses } = makeWatchedClient();
    const clock = vi.spyOn(performance, "now").mockReturnValue(1000);
    onTestFinished(() => clock.mockRestore());
    await client.constraints();
    clock.mockReturnValue(300_999);
    await client.constraints();
    expect(statuses).toEqual([200]);
    clock.mockReturnValue(301_000);
    await client.constraints();
    await client.constraints();
    expect(statuses).toEqual([200, 304]);
  });

  it("are compared by their entity tag when a store has them from an earlier client", async () => {
    let stored: StoredConstraints | null = null;
    const constraintsStore = {
      load: () => stored,
      save: (constraints: StoredConstraints) => {
        stored = constraints;
      },
    };
    await makeClient({ constraintsStore }).constraints();
    expect(stored).toMatchObject({ etag: expect.stringMatching(/^".+"$/) });
    const { client, sent, statuses } = makeWatchedClient({ constraintsStore });
    expect(await client.constraints()).toMatchObject({ ok: true, constraints: { limits: { max_inline_files: 2 } } });
    expect(await client.check({ source: "x" })).toEqual({ verdict: "accepted" });
    expect([sent, statuses]).toEqual([["GET /v1/constraints if changed"], [304]]);
  });

  it("are fetched again when a store has an invalid or an older document", async () => {
    for (const stored of [
      { etag: '"old"', document: { rules_version: 1 } },
      { etag: '"old"', document: null },
    ]) {
      const saved: StoredConstraints[] = [];
      const constraintsStore = {
        load: () => stored,
        save: (constraints: StoredConstraints) => void saved.push(constraints),
      };
      const { client, statuses } = makeWatchedClient({ constraintsStore });
      expect(await client.constraints()).toMatchObject({ ok: true });
      expect(statuses).toEqual([200]);
      expect(saved).toHaveLength(1);
    }
  });
});

describe("a problem of the service", () => {
  it("is forbidden if the token is wrong, for renders, checks and constraints alike", async () => {
    const client = makeClient({ token: "wrong" });
    const problem = { code: "forbidden", origin: "request", status: 403 };
    expect(await client.render({ source: "x" })).toMatchObject({ ok: false, checkedLocally: false, problem });
    expect(await client.check({ source: "x" })).toMatchObject({ verdict: "unavailable", problem });
    expect(await client.constraints()).toMatchObject({ ok: false, problem });
  });
});

describe("an option that cannot be used", () => {
  it.each([undefined, ""])("is rejected with a sentence if it is a token that is not set: %j", (token) => {
    expect(() => makeClient({ token })).toThrow(/^There is no token: .* SERVICE_API_TOKEN\.$/);
  });

  it.each([
    ["a relative URL", { url: "/v1" }],
    ["a URL with a password", { url: "https://me:secret@render.example" }],
    ["a token with a line feed", { token: "secret\n" }],
    ["no attempt", { retry: { maxAttempts: 0 } }],
    ["no attempt while it is busy", { retry: { maxBusyAttempts: 0 } }],
    ["a negative time", { retry: { maxTotalSeconds: -1 } }],
    ["no time for silence", { silenceTimeoutSeconds: 0 }],
    ["a time for silence that is no number", { silenceTimeoutSeconds: Number.NaN }],
    ["too much time for silence", { silenceTimeoutSeconds: 3601 }],
  ])("is rejected at once: %s", (_what, options) => {
    expect(() => makeClient(options)).toThrow(/^(?!.*secret)/);
    expect(() => makeClient({ silenceTimeoutSeconds: 3600 })).not.toThrow();
  });
});
