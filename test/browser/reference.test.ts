/** The reference page in a real browser. */
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { startTestService, type TestService } from "../support/test-service.ts";
import { expectAccessible } from "./accessibility.ts";
import { keepPicture, openPage, startBrowser } from "./browser.ts";

let service: TestService;
let browser: Browser;

beforeAll(async () => {
  service = await startTestService();
  const started = await startBrowser();
  ({ browser } = started);
  return async () => {
    await started.stop();
    await service.stop();
  };
});

describe("the reference page", () => {
  it.each(["light", "dark"] as const)("shows the interface, in the %s scheme", async (colorScheme) => {
    const page = await openPage(browser, new URL("/reference", service.edge.url), { colorScheme });
    const operation = page.locator(".opblock-post");
    await operation.first().waitFor();
    expect(await page.locator(".opblock").count()).toBeGreaterThan(3);
    await expectAccessible(page);
    await keepPicture(page, `reference-${colorScheme}`);
  });
});
