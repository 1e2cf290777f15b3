/** What each kind of origin is fetched with. */
import { expect, it } from "vitest";
import { openOrigin } from "../../../edge/backends/backend.ts";

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
  const origins = [
    openOrigin({ name: "a", kind: "binding", binding: "SERVICE", url }, environment, accessToken),
    openOrigin({ name: "b", kind: "container", binding: "CONTAINERS", index: 1 }, environment, accessToken),
  ];
  for (const origin of origins) await origin.fetch("/v1/render", { headers: { a: "1" } });
  expect(requests).toEqual([
    { url: new URL("https://backend.example/v1/render"), init: { headers: { a: "1" } } },
    { url: new URL("http://backend/v1/render"), init: { headers: { a: "1" } } },
  ]);
});
