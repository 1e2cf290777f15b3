/** Warnings of missing fonts in the playground. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { API_TOKEN } from "../support/tokens.ts";
import { expectAccessible } from "./accessibility.ts";
import { browserStage, keepPicture, openPage, writeInto } from "./browser.ts";

const stage = browserStage();

describe("the playground", () => {
  async function renderSource(page: Page, source: string): Promise<void> {
    await writeInto(page, "Template (Typst)", source);
    await page.getByRole("button", { name: "Render" }).click();
  }

  it("names missing families above the document until they are there", async () => {
    const page = await openPage(stage.browser, new URL(`/#token=${API_TOKEN}`, stage.service.edge.url));
    const warnings = page.locator("#result-warnings li");
    await renderSource(page, '#set text(font: "Libertine")\nGrüße');
    await expect
      .poll(() => warnings.allTextContents())
      .toEqual(['The service has no font family "Libertine", and the request brings none: Typst uses another font.']);
    await expectAccessible(page);
    await keepPicture(page, "missing-fonts");
    await renderSource(page, '#set text(font: "Libertinus Serif")\nGrüße');
    await expect.poll(() => warnings.count()).toBe(0);
  });

  it("loads the code for warnings only when there is a document", async () => {
    const page = await openPage(stage.browser, new URL(`/#token=${API_TOKEN}`, stage.service.edge.url));
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    await page.reload();
    await page.locator("#examples button").first().waitFor({ state: "attached" });
    expect(loaded).not.toContain("/playground/missing-fonts.js");
    const asked = page.waitForResponse("**/capabilities.json");
    await renderSource(page, "x");
    await asked;
    expect(loaded).toContain("/playground/missing-fonts.js");
  });
});
