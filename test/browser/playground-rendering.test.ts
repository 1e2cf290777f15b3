/**
 * Rendering in the playground: the viewer, rendering while typing, and what happens without a service, in a real
 * browser.
 */
import type { Page, Request } from "playwright-core";
import { describe, expect } from "vitest";
import { expectAccessible, namesTold } from "./accessibility.ts";
import {
  addFiles,
  browserStage,
  chooseExample,
  drawnPage,
  openPage,
  outdated,
  render,
  renderTemplate,
  template,
  writeTemplate,
} from "./browser.ts";

const stage = browserStage();
const { it } = stage;
const whileTyping = (page: Page) => page.getByLabel("Render while typing");
const nextAttempt = (page: Page) => page.getByText("The service is busy: next attempt in");
const LOGO = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20"/></svg>';
const phase = (page: Page) => page.locator(".phase").textContent();
const numberOfPage = (page: Page) => page.getByRole("textbox", { name: "Page", exact: true });

async function openWhileTyping(): Promise<Page> {
  const page = await stage.open();
  await whileTyping(page).check();
  await drawnPage(page, 1).waitFor();
  return page;
}

it("shows an example when it is chosen, and what is typed in it where the service is quick", async () => {
  const page = await stage.open({ rendersByItself: true });
  // Quick by the clock of the page, however busy the machine is.
  await page.addInitScript(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() / 100;
  });
  await page.reload();
  await chooseExample(page, "Certificate");
  await page.locator(".sheet img, .page[data-loaded]").first().waitFor();
  await expect.poll(() => whileTyping(page).isChecked()).toBe(true);
  await whileTyping(page).uncheck();
  await render(page);
  await page.reload();
  expect(await whileTyping(page).isChecked()).toBe(false);
});

async function goToPage(page: Page, number: number): Promise<void> {
  await numberOfPage(page).fill(String(number));
  await page.keyboard.press("Enter");
  await drawnPage(page, number).waitFor();
}

async function typeAtEnd(page: Page, text: string): Promise<void> {
  await template(page).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(text);
}

/** The bodies of the renders that a page sends, and how many were under way at once. */
function recordRenders(page: Page) {
  const record = { bodies: [] as string[], underWay: 0, most: 0 };
  const isRender = (url: string) => url.endsWith("/v1/render");
  page.on("request", (request) => {
    if (!isRender(request.url())) return;
    record.bodies.push(request.postData() ?? "");
    record.underWay++;
    record.most = Math.max(record.most, record.underWay);
  });
  const end = (request: Request) => {
    if (isRender(request.url())) record.underWay--;
  };
  // The page may know of the end of an answer before the browser reports it.
  page.on("response", (response) => end(response.request()));
  page.on("requestfailed", end);
  return record;
}

describe("the viewer", () => {
  it("has all of 300 pages, draws those that come into view, and follows links, to elsewhere in a new tab", async ({
    page,
  }) => {
    const pages = "#for number in range(1, 300) [\n= Page #number\n#pagebreak()]\n= The last page <end>";
    const links = '#link(<end>)[to the end] #link("https://example.com/")[elsewhere]';
    await renderTemplate(page, `#set page(width: 100mm, height: 60mm)\n${links}\n${pages}`);
    await drawnPage(page, 1).waitFor();
    expect(await page.locator(".pdfViewer .page").count()).toBe(300);
    expect(await page.locator('.page[data-loaded="true"]').count()).toBeLessThan(20);
    await goToPage(page, 150);
    await expect.poll(() => drawnPage(page, 150).locator(".textLayer").textContent()).toContain("Page 150");
    await goToPage(page, 1);
    const elsewhere = page.locator('.annotationLayer a[href="https://example.com/"]').first();
    expect(await elsewhere.getAttribute("target")).toBe("_blank");
    expect((await elsewhere.getAttribute("rel"))?.split(" ")).toContain("noopener");
    await page.locator('.annotationLayer a[href^="#"]').first().click();
    await drawnPage(page, 300).waitFor();
    await expect.poll(() => numberOfPage(page).inputValue()).toBe("300");
    await expectAccessible(page);
  });

  it("tells screen readers the headings, tables and links of a PDF by their words", async ({ page }) => {
    await addFiles(page, { "logo.svg": LOGO });
    await renderTemplate(
      page,
      `#set page(width: 100mm, height: 100mm)
= Prices of *this* year
See #link("https://example.com/")[our catalogue], #link("https://example.com/shop")[the shop, *open* all day long and on every holiday] or
#link(<end>)[the end]. #link("https://example.com/logo", image("logo.svg", alt: "The logo"))
#table(columns: 2, table.header[Item][Price], [Tea], [3.10])
#outline(title: "What is where")
#pagebreak()
= The end <end>`,
    );
    const told = (role: string) => namesTold(page, "Pages", role);
    await expect.poll(() => told("heading")).toEqual(["Prices of this year", "What is where", "The end"]);
    await expect.poll(() => told("columnheader")).toEqual(["Item", "Price"]);
    await expect.poll(() => told("cell")).toEqual(["Tea", "3.10"]);
    const links = ["our catalogue", "the shop, open all day long and on every holiday", "the end", "The logo"];
    await expect.poll(() => told("link")).toEqual([...links, "Prices of this year 1", "The end 2"]);
    // The text that can be selected stays on the text that is seen.
    const textBoxes = page.locator(".textLayer span:not(.markedContent)");
    const layers = await textBoxes.evaluateAll((boxes) =>
      boxes.map((box) => box instanceof HTMLElement && box.offsetParent?.className.includes("textLayer")),
    );
    expect(new Set(layers)).toEqual(new Set([true]));
    await expectAccessible(page);
  });

  it("zooms, and keeps the zoom and the place in the next render", async ({ page }) => {
    await renderTemplate(page, "#for number in range(1, 6) [\n= Page #number\n#pagebreak()]");
    await drawnPage(page, 1).waitFor();
    await page.getByLabel("Zoom", { exact: true }).selectOption("0.5");
    await page.getByRole("button", { name: "Zoom in" }).click();
    await expect.poll(() => page.getByLabel("Zoom", { exact: true }).inputValue()).toBe("0.6");
    await goToPage(page, 3);
    const scrollTop = () =>
      page.locator(".pdf-pages:not(.is-loading)").evaluate((pages) => Math.round(pages.scrollTop));
    const before = await scrollTop();
    await page.locator(".pdf-pages").evaluate((pages) => pages.classList.add("is-first"));
    await render(page);
    await page.locator(".pdf-pages:not(.is-first, .is-loading)").waitFor();
    expect(await scrollTop()).toBe(before);
    expect(await page.getByLabel("Zoom", { exact: true }).inputValue()).toBe("0.6");
  });
});

describe("the last good pages", () => {
  it("stay after an edit and after an error, marked as outdated, and without the problem of another draft", async ({
    page,
  }) => {
    await renderTemplate(page, "#unknown-function()");
    await page.locator(".problem").waitFor();
    await chooseExample(page, "Certificate");
    await page.getByText("Nothing rendered yet").first().waitFor();
    expect(await page.locator(".problem").count()).toBe(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await renderTemplate(page, "Good");
    await drawnPage(page, 1).waitFor();
    expect(await outdated(page).isVisible()).toBe(false);
    await template(page).click();
    await page.keyboard.type("x");
    await outdated(page).waitFor();
    await renderTemplate(page, "#unknown-function()");
    await page.locator(".problem").waitFor();
    expect(await drawnPage(page, 1).isVisible()).toBe(true);
    expect(await outdated(page).isVisible()).toBe(true);
    await expectAccessible(page);
    await renderTemplate(page, "Good");
    await page.locator(".problem").waitFor({ state: "detached" });
    await outdated(page).waitFor({ state: "hidden" });
  });
});

describe("rendering while typing", () => {
  it("sends one request at a time, and the latest draft last", async ({ page }) => {
    const renders = recordRenders(page);
    await whileTyping(page).check();
    await drawnPage(page, 1).waitFor();
    await writeTemplate(page, "#for i in range(60000) { let x = calc.pow(i, 2) }\nWords:");
    for (const word of ["one", "two", "three"]) {
      await page.keyboard.type(` ${word}`);
      const { length } = renders.bodies;
      await expect.poll(() => renders.bodies.length).toBeGreaterThan(length);
    }
    await page.keyboard.type(" end");
    await expect.poll(() => page.locator(".textLayer").first().textContent()).toContain("Words: one two three end");
    await outdated(page).waitFor({ state: "hidden" });
    expect(renders.most).toBe(1);
    expect(renders.bodies.at(-1)).toContain("three end");
    await page.reload();
    await expect.poll(() => whileTyping(page).isChecked()).toBe(true);
  });

  it("waits as long as a busy service says, counts down, and sends the latest draft then", async () => {
    const page = await openWhileTyping();
    const renders = recordRenders(page);
    const times = await beBusyOnce(page);
    await typeAtEnd(page, "first");
    await nextAttempt(page).waitFor();
    await page.keyboard.type(" latest");
    await expect.poll(() => phase(page)).toBe("The service is busy: next attempt in 2 s");
    await expect.poll(() => phase(page)).toBe("The service is busy: next attempt in 1 s");
    await expect.poll(() => page.locator(".textLayer").first().textContent()).toContain("first latest");
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(RETRY_AFTER_SECONDS * 1000);
    expect(renders.bodies.length).toBe(2);
  });
});

describe("a render that the user asks for", () => {
  it("waits until the time that a busy service has named, even if the previous render was cancelled", async ({
    page,
  }) => {
    const times = await beBusyOnce(page);
    await render(page);
    await nextAttempt(page).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "Cancelled" }).waitFor();
    await render(page);
    await nextAttempt(page).waitFor();
    await drawnPage(page, 1).waitFor();
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(RETRY_AFTER_SECONDS * 1000);
  });

  it("is sent by itself when the connection is back, and the viewer is loaded too", async () => {
    const page = await openPage(stage.browser, "about:blank");
    await page.route("**/playground/pdf-*.js", (route) => route.abort(), { times: 2 });
    await page.goto(stage.address());
    await page.getByRole("button", { name: "Render" }).waitFor();
    await page.context().setOffline(true);
    const renders = recordRenders(page);
    await render(page);
    await page.getByRole("heading", { name: "You are offline" }).waitFor();
    expect(renders.bodies).toEqual([]);
    await page.context().setOffline(false);
    await drawnPage(page, 1).waitFor();
    await page.getByRole("heading", { name: "You are offline" }).waitFor({ state: "detached" });
  });

  it("is tried again at once if the user asks again while the service cannot be reached", async ({ page }) => {
    let isReachable = false;
    await page.route("**/v1/render", (route) => (isReachable ? route.fallback() : route.abort()));
    await whileTyping(page).check();
    await expect.poll(() => phase(page)).toContain("The service cannot be reached: next attempt in");
    isReachable = true;
    await render(page);
    await drawnPage(page, 1).waitFor();
  });
});

it("a wait ends without a request if the draft has a problem by then, or typing no longer renders", async ({
  page,
}) => {
  const renders = recordRenders(page);
  await page.route("**/v1/render", (route) => route.fulfill(busy(6)));
  await whileTyping(page).check();
  await nextAttempt(page).waitFor();
  await page.getByLabel("Pages").fill("no pages");
  await page.getByRole("heading", { name: "Not rendered" }).waitFor();
  expect(await page.locator(".phase").count()).toBe(0);
  expect(renders.bodies.length).toBe(1);
  await page.getByLabel("Pages").fill("");
  await nextAttempt(page).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await render(page);
  await nextAttempt(page).waitFor();
  await whileTyping(page).uncheck();
  await page.getByRole("heading", { name: "Not rendered" }).waitFor();
});

describe("a slow line", () => {
  it("carries the viewer before anything that can wait", async () => {
    const page = await openPage(stage.browser, "about:blank");
    const loaded: string[] = [];
    page.on("requestfinished", (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(stage.address());
    const later = ["/playground/template-worker.js", "/v1/constraints"];
    await expect.poll(() => loaded).toEqual(expect.arrayContaining(later));
    const scripts = loaded.filter((path) => /\.(?:js|json)$|constraints/.test(path));
    expect(scripts[0]).toBe("/playground/playground.js");
    expect(scripts.slice(1, 3).sort()).toEqual(["/playground/pdf-viewer.js", "/playground/pdf-worker.js"]);
    expect(new Set(scripts.slice(3))).toEqual(new Set(later));
  });
});

const RETRY_AFTER_SECONDS = 3;

/** The first render is refused. Returns the times of all. */
async function beBusyOnce(page: Page): Promise<number[]> {
  const times: number[] = [];
  await page.route("**/v1/render", async (route) => {
    times.push(Date.now());
    if (times.length === 1) await route.fulfill(busy(RETRY_AFTER_SECONDS));
    else await route.fallback();
  });
  return times;
}

const busy = (retryAfterSeconds: number) => ({
  status: 429,
  headers: { "Retry-After": String(retryAfterSeconds), "Content-Type": "application/problem+json" },
  body: JSON.stringify({
    type: "about:blank",
    title: "Render queue full",
    status: 429,
    detail: "Busy.",
    instance: "https://example.com/v1/render#1",
    code: "render_queue_full",
    origin: "capacity",
    context: { retry_after: retryAfterSeconds },
  }),
});
