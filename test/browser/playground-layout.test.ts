/** How the playground divides the screen, and what its result is called, in a real browser. */
import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { API_TOKEN } from "../support/tokens.ts";
import { expectAccessible } from "./accessibility.ts";
import { addFiles, browserStage, keepPicture, openPage, writeInto } from "./browser.ts";

const stage = browserStage();

const openPlayground = (options: BrowserContextOptions = {}) =>
  openPage(stage.browser, new URL(`/#token=${API_TOKEN}`, stage.service.edge.url), options);
const render = (page: Page) => page.getByRole("button", { name: "Render" }).click();
const widthOf = (page: Page, selector: string) =>
  page.locator(selector).evaluate((element) => element.getBoundingClientRect().width);

describe("the space", () => {
  it("has room for fifteen lines of the template at 1024 × 768, with the options folded", async () => {
    const page = await openPlayground({ viewport: { width: 1024, height: 768 } });
    const editor = page.locator("#source-editor");
    const lines = await editor.evaluate((host) => {
      const line = host.shadowRoot?.querySelector(".cm-line");
      return host.getBoundingClientRect().height / (line?.getBoundingClientRect().height ?? Number.NaN);
    });
    expect(lines).toBeGreaterThanOrEqual(15);
    expect(await page.getByLabel("File name").isVisible()).toBe(false);
    await page.getByText("Options hello.pdf").click();
    await page.getByLabel("File name").waitFor();
    await expectAccessible(page);
    await page.reload();
    await page.getByLabel("File name").waitFor();
  });

  it("is divided by a separator that the keyboard and the mouse move, and the browser remembers it", async () => {
    const page = await openPlayground();
    const separator = page.getByRole("separator", { name: "Width of the request" });
    expect(await widthOf(page, "#request")).toBe(720);
    await separator.focus();
    await page.keyboard.press("ArrowRight");
    expect(await widthOf(page, "#request")).toBe(792);
    expect(await separator.getAttribute("aria-valuenow")).toBe("55");
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowRight");
    expect(await separator.getAttribute("aria-valuenow")).toBe("75");
    await separator.hover();
    await page.mouse.down();
    await page.mouse.move(576, 300);
    await page.mouse.up();
    await page.mouse.move(900, 300);
    expect(await widthOf(page, "#request")).toBe(576);
    await page.reload();
    await expect.poll(() => widthOf(page, "#request")).toBe(576);
  });

  it("opens what is folded when a field in it has a problem", async () => {
    const page = await openPlayground({ viewport: { width: 1024, height: 768 } });
    await page.getByText("Options hello.pdf").click();
    await page.getByLabel("Pages").fill("3-1");
    await page.locator("#output-pages-message:not(:empty)").waitFor();
    await page.reload();
    await page.locator("#validation[data-state='invalid']").waitFor();
    // The check by the deployment's limits, when they come, may open it again.
    const fold = async () => {
      await page.getByText("Options hello.pdf").click();
      return page.getByLabel("Pages").isVisible();
    };
    await expect.poll(fold).toBe(false);
    await render(page);
    await page.getByLabel("Pages").waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("output-pages");
  });

  it("shows the names of files on a phone", async () => {
    const page = await openPlayground({ viewport: { width: 390, height: 844 } });
    await addFiles(page, { "fonts-of-the-house-regular.csv": "a" });
    const name = page.getByLabel("Path of file 1");
    expect(await name.evaluate((input: HTMLInputElement) => input.scrollWidth <= input.clientWidth)).toBe(true);
    await expectAccessible(page);
    await keepPicture(page, "phone-files");
  });
});

describe("the result", () => {
  it("says what it is, bears the draft's name, and keeps its colours when it is outdated", async () => {
    const page = await openPlayground();
    await writeInto(page, "Template (Typst)", '#set document(title: "Prices")\n= Price list 2027\n');
    await page.getByLabel("File name").fill("");
    await page.getByLabel("PDF/A profile").selectOption("a-2b");
    await page.getByLabel("Accessible (PDF/UA-1)").check();
    await render(page);
    const summary = page.locator("#result-summary");
    await expect.poll(() => summary.textContent()).toMatch(/^Price-list-2027\.pdf · PDF\/A-2b · PDF\/UA-1 · 1 page · /);
    for (const [button, fileName] of [
      ["Download", "Price-list-2027.pdf"],
      ["Save ZIP", "Price-list-2027.zip"],
    ] as const) {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: button }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(fileName);
    }
    await page.getByRole("textbox", { name: "Template (Typst)" }).press("End");
    await page.keyboard.type("x");
    await page.getByText("Outdated", { exact: true }).waitFor();
    expect(await page.locator("#result-document").evaluate((host) => getComputedStyle(host).filter)).toBe("none");
    await expectAccessible(page);
    await keepPicture(page, "outdated-2");
  });

  it("of a template that does not compile names the causes that the request makes likely, and a command", async () => {
    const page = await openPlayground();
    await writeInto(page, "Template (Typst)", "= Price list\n#rect(fill: rgb(255, 0, 0, 50%))");
    await page.getByLabel("File name").fill("");
    await page.getByLabel("PDF/A profile").selectOption("a-1b");
    await page.getByLabel("Pages").fill("1-2,5-");
    await render(page);
    const problem = page.locator(".problem");
    await problem.waitFor();
    expect(await problem.textContent()).toMatch(/^Template compile failed.*request [0-9a-f-]{36}$/);
    expect(await page.locator("#source-message").textContent()).not.toBe("");
    expect(await problem.locator("ul").last().locator("li").first().textContent()).toContain("transparency");
    // Without npx, which would run any package that a registry has under this name.
    const command = "document-rendering check Price-list --format pdf --standards a-1b --pages 1-2,5-";
    expect(await problem.locator(".command code").textContent()).toBe(command);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the command" }).click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(command);
    await expectAccessible(page);
    await keepPicture(page, "compile-failed");
  });

  it("names missing families above the document until they are there, or there is no document", async () => {
    const page = await openPlayground();
    const warnings = page.locator("#result-warnings li");
    const isLoaded = () =>
      page.evaluate('performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/missing-fonts.js"))');
    const renderSource = async (source: string) => {
      await writeInto(page, "Template (Typst)", source);
      await render(page);
    };
    const missing = '#set text(font: "Libertine")\nGrüße';
    // On a slow line, the code for warnings comes after the first document.
    expect(await isLoaded()).toBe(false);
    await renderSource(missing);
    await expect
      .poll(() => warnings.allTextContents())
      .toEqual(['The service has no font family "Libertine", and the request brings none: Typst uses another font.']);
    expect(await isLoaded()).toBe(true);
    await expectAccessible(page);
    await keepPicture(page, "missing-fonts");
    await renderSource('#set text(font: "Libertinus Serif")\nGrüße');
    await expect.poll(() => warnings.count()).toBe(0);
    await renderSource(missing);
    await expect.poll(() => warnings.count()).toBe(1);
    await renderSource("#unknown-function()");
    await page.locator(".problem").waitFor();
    expect(await warnings.count()).toBe(0);
  });
});

describe("a file that Typst cannot use", () => {
  it("is named where it is added, with what to do, and the request can be sent", async () => {
    const page = await openPlayground();
    await addFiles(page, {
      "house.woff2": Buffer.concat([Buffer.from("wOF2"), Buffer.alloc(100)]),
      "prices.csv": Buffer.from("Preis;größer", "latin1"),
      "fine.csv": "a;b",
    });
    const messages = page.locator("#files-list .message");
    await expect
      .poll(() => messages.allTextContents())
      .toEqual([
        "house.woff2 is WOFF2, which Typst does not read: convert it to TTF or OTF.",
        "prices.csv is not UTF-8: save it as UTF-8.",
        "",
      ]);
    expect(await page.locator("#validation").textContent()).toBe("Valid request, 2 hints");
    await page.getByRole("button", { name: "Open prices.csv" }).click();
    await page.getByText("This file is not UTF-8: save it as UTF-8").waitFor();
    await expectAccessible(page);
    await keepPicture(page, "unusable-files");
  });
});

describe("the reference", () => {
  it.each(["light", "dark"] as const)("is a click away and leads back, in the %s scheme", async (colorScheme) => {
    const page = await openPlayground({ colorScheme });
    await page.getByRole("link", { name: "Reference" }).click();
    await page.locator(".opblock-post").first().waitFor();
    expect(await page.locator(".opblock").count()).toBeGreaterThan(3);
    await expectAccessible(page);
    await keepPicture(page, `reference-${colorScheme}`);
    await page.getByRole("link", { name: "Playground" }).click();
    await page.getByRole("button", { name: "Render" }).waitFor();
  });
});
