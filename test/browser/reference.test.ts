/** The reference page in a real browser. */
import { describe, expect, it } from "vitest";
import { expectAccessible } from "./accessibility.ts";
import { browserStage, keepPicture, openPage } from "./browser.ts";

const stage = browserStage();

describe("the reference page", () => {
  it.each(["light", "dark"] as const)("shows the interface, in the %s scheme", async (colorScheme) => {
    const page = await openPage(stage.browser, new URL("/reference", stage.service.edge.url), { colorScheme });
    const operation = page.locator(".opblock-post");
    await operation.first().waitFor();
    expect(await page.locator(".opblock").count()).toBeGreaterThan(3);
    await expectAccessible(page);
    await keepPicture(page, `reference-${colorScheme}`);
  });
});
