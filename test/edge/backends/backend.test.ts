/** What each kind of backend is fetched with. */
import { expect, it } from "vitest";
import { openBackend } from "../../../edge/backends/backend.ts";

it("the service token of Cloudflare Access goes to no binding", async () => {
  const requests: { readonly url: URL; readonly init: RequestInit }[] = [];
  const service = {
    fetch: async (url: URL, init: RequestInit) => {
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
  for (const backend of backends) await backend.fetch("/v1/render", { headers: { a: "1" } });
  expect(requests).toEqual([
    { url: new URL("https://backend.example/v1/render"), init: { headers: { a: "1" } } },
    { url: new URL("http://backend/v1/render"), init: { headers: { a: "1" } } },
  ]);
});
