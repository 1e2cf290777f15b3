/** Chromium sends a POST again by itself when the answer is a 408 on a connection that it has used before. */
import { afterAll, expect, it } from "vitest";
import { parseMetrics } from "../support/readers/metrics-text.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { browserStage, openPage, renderTemplate, servePage } from "./browser.ts";

const other = await servePage();
afterAll(() => other.stop());
const stage = browserStage({ settings: { SERVICE_RENDER_TIMEOUT_SECONDS: "1", SERVICE_CORS_ORIGINS: other.origin } });

const SLOW = "#for i in range(30000) { for j in range(30000) { let y = calc.pow(i, 2) } }";

async function timeouts(): Promise<number> {
  const metrics = await (await fetch(new URL("/metrics", stage.service.backend.url))).text();
  const counts = parseMetrics(metrics).filter(({ name }) => name === "service_render_timeouts_total");
  return counts.reduce((sum, { value }) => sum + value, 0);
}

it("a slow render of the playground is sent once", async () => {
  const page = await stage.open();
  await renderTemplate(page, "= First");
  await page.getByRole("button", { name: "Download" }).waitFor();
  const before = await timeouts();
  await renderTemplate(page, SLOW);
  await expect.poll(() => page.locator("#result-state").textContent()).toContain("render_timeout");
  expect(await timeouts()).toBe(before + 1);
});

it("a slow render of a page of another origin is sent once", async () => {
  const page = await openPage(stage.browser, other.origin);
  const before = await timeouts();
  const send = (source: string) =>
    page.evaluate(
      async ([url, token, body]) => {
        const headers = { "X-Service-Api-Token": token ?? "", "Content-Type": "application/json" };
        const answer = await fetch(url ?? "", { method: "POST", headers, body: body ?? "" });
        await answer.blob();
        return answer.status;
      },
      [new URL("/v1/render", stage.service.edge.url).href, API_TOKEN, JSON.stringify({ source })],
    );
  expect([await send("= First"), await send(SLOW)]).toEqual([200, 408]);
  expect(await timeouts()).toBe(before + 1);
});
