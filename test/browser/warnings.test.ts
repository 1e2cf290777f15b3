/** Warnings of missing fonts in the playground, and mistakes on the page of `check --watch --serve`. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { startCommand, writeProject } from "../support/clients/command-line.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
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

describe("the page of check --watch --serve", () => {
  it("shows pages and mistakes, and reloads them by itself", async () => {
    const folder = await makeTemporaryFolder("command-");
    await writeProject(folder, { "letter.typ": "One #pagebreak() Two" });
    const env = { SERVICE_URL: stage.service.edge.url.origin };
    const program = fileURLToPath(new URL("../../clients/command-line/main.ts", import.meta.url));
    const running = startCommand(folder, ["check", "letter.typ", "--watch", "--serve"], { env, program });
    let seen = "";
    running.stderr.on("data", (chunk: Buffer) => {
      seen += chunk.toString("utf8");
    });
    await expect.poll(() => seen).toContain("Watching for changes");
    const page = await openPage(stage.browser, /http:\/\/127\.0\.0\.1:\S+/.exec(seen)?.[0] ?? "");
    const images = page.locator("main img");
    const isDrawn = (index: number) =>
      images.nth(index).evaluate((image: HTMLImageElement) => image.complete && image.naturalWidth > 100);
    await expect.poll(() => images.count()).toBe(2);
    await expect.poll(() => isDrawn(1)).toBe(true);
    expect(await page.locator("#status").textContent()).toBe("Compiles.");
    await expectAccessible(page);

    await writeFile(join(folder, "letter.typ"), '#panic("<img src=x onerror=alert(1)>")');
    await expect.poll(() => page.locator("#report").textContent()).toContain("<img src=x onerror=alert(1)>");
    expect(await page.locator("#status").textContent()).toBe("Does not compile.");
    expect(await page.locator("#report img").count()).toBe(0);
    expect(await page.locator("main.is-old img").count()).toBe(2);
    await keepPicture(page, "preview-mistake");

    await writeFile(join(folder, "letter.typ"), "One");
    await expect.poll(() => images.count()).toBe(1);
    await expect.poll(() => isDrawn(0)).toBe(true);
    expect(await page.locator("#report").isHidden()).toBe(true);
    await page.goto("about:blank");
    running.kill("SIGINT");
    expect((await running).exitCode).toBe(130);
  });
});
