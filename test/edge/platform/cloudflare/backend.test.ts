/** What each kind of backend is fetched with, and how much of a small document is read, and for how long. */
import { expect, it, onTestFinished, vi } from "vitest";
import { fetchText } from "../../../../edge/backends/backend.ts";
import { openBackend, toBackendAnswer } from "../../../../edge/platform/cloudflare/backend.ts";
import { SettingError } from "../../../../rules/settings.ts";

const ASKED = {
  method: "GET",
  path: "/ready",
  headers: { a: "1" },
  body: null,
  signal: new AbortController().signal,
} as const;

it("the service token of Cloudflare Access goes to no binding", async () => {
  const requests: { readonly url: string; readonly init: RequestInit }[] = [];
  const service = {
    fetch: async (url: string, init: RequestInit) => {
      requests.push({ url, init });
      return new Response();
    },
  };
  const namespace = { idFromName: (name: string) => name, get: () => service };
  const accessToken = { clientId: "id", clientSecret: "secret" };
  const environment = { SERVICE: service, CONTAINERS: namespace };
  const url = new URL("https://backend.example");
  const backends = [
    openBackend({ name: "a", kind: "binding", binding: "SERVICE", url }, environment, accessToken),
    openBackend({ name: "b", kind: "container", binding: "CONTAINERS", index: 1 }, environment, accessToken),
  ];
  for (const backend of backends) await backend.send(ASKED);
  const init = { method: "GET", headers: { a: "1" }, redirect: "manual", signal: ASKED.signal };
  expect(requests).toEqual([
    { url: "https://backend.example/ready", init },
    { url: "http://backend/ready", init },
  ]);
});

it("the service token of Cloudflare Access goes to a URL, beside the other fields", async () => {
  const fetch = vi.fn(async (_url: string, _init: RequestInit) => new Response());
  vi.stubGlobal("fetch", fetch);
  onTestFinished(() => void vi.unstubAllGlobals());
  const address = { name: "a", kind: "url", url: new URL("https://backend.example") } as const;
  await openBackend(address, {}, { clientId: "id", clientSecret: "secret" }).send(ASKED);
  await openBackend(address, {}, null).send(ASKED);
  const [[url, sent] = [], [, unchanged] = []] = fetch.mock.calls;
  expect([url, sent?.method]).toEqual(["https://backend.example/ready", "GET"]);
  expect(Object.fromEntries(new Headers(sent?.headers))).toEqual({
    a: "1",
    "cf-access-client-id": "id",
    "cf-access-client-secret": "secret",
  });
  expect(unchanged?.headers).toEqual(ASKED.headers);
});

it.each([undefined, null, "text", {}, () => {}])(
  "a binding that cannot be used is refused by its name: %s",
  (binding) => {
    const url = new URL("https://backend.example");
    const bound = { name: "a", kind: "binding", binding: "PARIS", url } as const;
    expect(() => openBackend(bound, { PARIS: binding }, null)).toThrow(/PARIS.*`fetch`/);
    const contained = { name: "a", kind: "container", binding: "BOX", index: 1 } as const;
    expect(() => openBackend(contained, { BOX: binding }, null)).toThrow(/BOX.*Durable Object/);
    expect(() => openBackend(contained, {}, null)).toThrow(SettingError);
  },
);

const BOUNDS = { maxBytes: 4, timeoutMilliseconds: 60_000 };

const fetchFrom = (answer: () => Response | Promise<Response>, bounds = BOUNDS) =>
  fetchText({ name: "a", send: async () => toBackendAnswer(await answer()) }, "/metrics", bounds);

/** A body of these chunks, which goes on for ever if it is endless. */
function bodyOf(chunks: readonly Uint8Array[], isEndless = false) {
  const cancel = vi.fn();
  const rest = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (!isEndless) controller.close();
    },
    cancel,
  });
  return { body, cancel };
}

const bytes = (text: string) => new TextEncoder().encode(text);

it.each([
  ["without a body", () => new Response(null), ""],
  ["of as many bytes as are allowed", () => new Response("abcd"), "abcd"],
  ["of one byte more", () => new Response("abcde"), null],
  ["with the status of a failure", () => new Response("abcd", { status: 503 }), null],
  ["that does not come", () => Promise.reject(new Error("connection refused")), null],
])("a document %s", async (_what, answer, text) => {
  expect(await fetchFrom(answer)).toBe(text);
});

it("characters may be split between chunks, and an incomplete one is replaced", async () => {
  const [first, second] = [bytes("é").slice(0, 1), bytes("é").slice(1)];
  expect(await fetchFrom(() => new Response(bodyOf([first, second]).body))).toBe("é");
  expect(await fetchFrom(() => new Response(bodyOf([bytes("a"), first]).body))).toBe("a\uFFFD");
});

it("a body that is too long or too slow is not read to the end", async () => {
  const long = bodyOf([bytes("ab"), bytes("cde")], true);
  expect(await fetchFrom(() => new Response(long.body))).toBeNull();
  expect(long.cancel).toHaveBeenCalledOnce();
  const slow = bodyOf([bytes("ab")], true);
  expect(await fetchFrom(() => new Response(slow.body), { maxBytes: 4, timeoutMilliseconds: 10 })).toBeNull();
  expect(slow.cancel).toHaveBeenCalledOnce();
});
