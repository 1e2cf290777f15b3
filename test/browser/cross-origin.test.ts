/**
 * What a real browser sends: for pages of other origins (CORS), of which the deployment names one, and after a 408, when Chromium
 * sends a POST again by itself on a connection that it has used before.
 */
import type { Page } from "playwright-core";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { parseMetrics } from "../support/readers/metrics-text.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { browserStage, renderTemplate, servePage } from "./browser.ts";

const [allowed, other] = [await servePage(), await servePage()];
const stage = browserStage({ settings: { SERVICE_RENDER_TIMEOUT_SECONDS: "1", SERVICE_CORS_ORIGINS: allowed.origin } });
afterAll(async () => {
  await allowed.stop();
  await other.stop();
});

/** What `fetch` in a page returned, or `blocked` if the browser withheld it from the page. */
type Got = "blocked" | { readonly status: number; readonly start: string; readonly headers: Record<string, string> };

/** Does not use `openPage`, which fails a test in which the browser blocks something. */
async function pageAt(origin: string): Promise<Page> {
  const context = await stage.browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(origin);
  return page;
}

async function fetchIn(page: Page, path: string, init: { method?: string; body?: string } = {}): Promise<Got> {
  const headers = { "X-Service-Api-Token": API_TOKEN, ...(init.body && { "Content-Type": "application/json" }) };
  return page.evaluate(
    async ({ url, options }) => {
      try {
        const answer = await fetch(url, options);
        const start = (await answer.text()).slice(0, 5);
        return { status: answer.status, start, headers: Object.fromEntries(answer.headers) };
      } catch {
        return "blocked" as const;
      }
    },
    { url: new URL(path, stage.service.edge.url).toString(), options: { ...init, headers } },
  );
}

/** What the backend has counted, of all kinds. */
async function counted(metric: string): Promise<number> {
  const samples = parseMetrics(await (await fetch(new URL("/metrics", stage.service.backend.url))).text());
  const counts = samples.filter(({ name }) => name === metric).map(({ value }) => value);
  return counts.reduce((sum, value) => sum + value, 0);
}

const TIMEOUTS = "service_render_timeouts_total";
const SLOW = "#for i in range(30000) { for j in range(30000) { let y = calc.pow(i, 2) } }";

it("a slow render of the playground is sent once", async () => {
  const page = await stage.open();
  await renderTemplate(page, "= First");
  await page.getByRole("button", { name: "Download" }).waitFor();
  const before = await counted(TIMEOUTS);
  await renderTemplate(page, SLOW);
  await expect.poll(() => page.locator("#result-state").textContent()).toContain("render_timeout");
  expect(await counted(TIMEOUTS)).toBe(before + 1);
});

describe("a page of an origin that the deployment names", () => {
  it("can render, and can read the file with its name and the request id, problems and the constraints", async () => {
    const page = await pageAt(allowed.origin);
    const got = await fetchIn(page, "/v1/render", { method: "POST", body: '{"source":"x","output":{"filename":"a"}}' });
    expect(got).toMatchObject({
      status: 200,
      start: "%PDF-",
      headers: {
        "content-disposition": expect.stringContaining("a.pdf"),
        "x-request-id": expect.stringMatching(/^[0-9a-f-]+$/),
      },
    });
    expect(await fetchIn(page, "/v1/render", { method: "POST", body: "{" })).toMatchObject({ status: 400 });
    expect(await fetchIn(page, "/v1/constraints")).toMatchObject({
      status: 200,
      headers: { etag: expect.stringMatching(/^"/) },
    });
    const before = await counted(TIMEOUTS);
    const slow = { method: "POST", body: JSON.stringify({ source: SLOW }) };
    expect(await fetchIn(page, "/v1/render", slow)).toMatchObject({ status: 408 });
    expect(await counted(TIMEOUTS)).toBe(before + 1);
  });
});

describe("a page of another origin", () => {
  it("can read nothing, and its renders are not sent", async () => {
    const page = await pageAt(other.origin);
    const before = await counted("service_render_requests_total");
    expect(await fetchIn(page, "/v1/render", { method: "POST", body: '{"source":"x"}' })).toBe("blocked");
    expect(await counted("service_render_requests_total")).toBe(before);
    expect(await fetchIn(page, "/v1/constraints")).toBe("blocked");
    const read = `fetch("${stage.service.edge.url}health").then(() => "read", () => "blocked")`;
    expect(await page.evaluate(read)).toBe("blocked");
  });
});
