/**
 * A service and a browser for a test file, and pages that fail the test if they report an error: an exception, a
 * message of `console.error`, or something that their policy has blocked.
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { closeServer, listenOnLoopback } from "../support/loopback-server.ts";
import { startTestService, type TestService, type TestServiceOptions } from "../support/service/test-service.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { launchChromium } from "./chromium.ts";

/** Longer than anything takes on a busy machine. */
const ACTION_TIMEOUT_MILLISECONDS = 120_000;

const EXPECTED_ERROR =
  /the server responded with a status|^Failed to load resource: net::ERR_(?:INTERNET_DISCONNECTED|FAILED)$/;

/** An empty page at its own origin. */
export async function servePage(): Promise<{ origin: string; stop: () => Promise<void> }> {
  const server = createServer((_request, response) => {
    response.setHeader("Content-Type", "text/html").end("<!doctype html><title>An application</title>");
  });
  const { origin } = await listenOnLoopback(server);
  return { origin, stop: () => closeServer(server) };
}

/** The service and the browser that the tests of a file share. They exist while the tests run. */
export function browserStage(options?: TestServiceOptions) {
  let started: { readonly service: TestService; readonly browser: Browser } | undefined;
  beforeAll(async () => {
    const service = await startTestService(options);
    const { browser, stop } = await launchChromium(inject("chromiumPath"), inject("bubblewrapPath"));
    started = { service, browser };
    return async () => {
      await stop();
      await service.stop();
    };
  });
  const current = () => {
    if (started === undefined) throw new Error("the service and the browser exist only while tests run");
    return started;
  };
  /** Of the playground, with a token. */
  const address = () => new URL(`/#token=${API_TOKEN}`, current().service.edge.url).href;
  const open = (contextOptions?: Parameters<typeof openPage>[2]) =>
    openPage(current().browser, address(), contextOptions);
  return {
    address,
    open,
    /** A test that gets the playground, with a token. */
    it: it.extend("page", () => open()),
    get service() {
      return current().service;
    },
    get browser() {
      return current().browser;
    },
  };
}

/** A page at a URL, in its own context, which is closed with the test. Its errors fail the test. */
export async function openPage(
  browser: Browser,
  url: URL | string,
  { rendersByItself = false, ...options }: BrowserContextOptions & { readonly rendersByItself?: boolean } = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MILLISECONDS);
  onTestFinished(() => context.close());
  if (!rendersByItself) await context.addInitScript(renderOnlyWhenAsked);
  return openPageIn(context, url);
}

/** Else a page of a quick service renders what a test types. Whoever has chosen keeps the choice. */
function renderOnlyWhenAsked(): void {
  const key = "render-while-typing";
  if (location.protocol.startsWith("http") && localStorage.getItem(key) === null) localStorage.setItem(key, "off");
}

/** A further tab of a browser in which `openPage` has opened one. Its errors fail the test. */
export async function openPageIn(context: BrowserContext, url: URL | string): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // Error statuses and lost connections are reported as errors, too, but some tests cause them on purpose.
    if (message.type() === "error" && !EXPECTED_ERROR.test(message.text())) {
      errors.push(message.text());
    }
  });
  onTestFinished(() => expect(errors).toEqual([]));
  await page.goto(url.toString());
  // Until its script has run to its end, the playground takes no clicks and no files.
  if ((await page.locator("#validation").count()) > 0) {
    await page.locator("#validation:not(:empty)").waitFor({ state: "attached" });
  }
  return page;
}

export const render = (page: Page) => page.getByRole("button", { name: "Render", exact: true }).click();
export const tab = (page: Page, name: string | RegExp) => page.getByRole("tab", { name });
export const template = (page: Page) => page.getByRole("textbox", { name: "Template (Typst)" });
export const summary = (page: Page) => page.locator("#result-summary").textContent();
export const outdated = (page: Page) => page.getByText("Outdated", { exact: true });
/** A page of a PDF that has been drawn. */
export const drawnPage = (page: Page, number = 1) =>
  page.locator(`.pdf-pages:not(.is-loading) .page[data-page-number="${number}"][data-loaded="true"]`);

/** What is saved at a click. */
export async function downloadBy(page: Page, click: () => Promise<void>): Promise<{ name: string; content: Buffer }> {
  const [download] = await Promise.all([page.waitForEvent("download"), click()]);
  return { name: download.suggestedFilename(), content: await readFile(await download.path()) };
}

/** Shows an editor of the playground and replaces its text. */
export async function writeInto(page: Page, label: "Template (Typst)" | "Data (JSON)", text: string): Promise<void> {
  await tab(page, label.startsWith("Data") ? /^Data/ : "Template").click();
  await page.getByRole("textbox", { name: label }).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

export const writeTemplate = (page: Page, text: string) => writeInto(page, "Template (Typst)", text);

export async function renderTemplate(page: Page, text: string): Promise<void> {
  await writeTemplate(page, text);
  await render(page);
}

export async function openFile(page: Page, key: string): Promise<void> {
  await tab(page, "Files").click();
  await page.getByRole("button", { name: `Open ${key}` }).click();
}

export async function chooseExample(page: Page, title: string): Promise<void> {
  await page.locator("#examples-button").click();
  await page.getByRole("button", { name: title, exact: true }).click();
}

export async function addFiles(page: Page, files: Readonly<Record<string, Uint8Array | string>>): Promise<void> {
  await page.getByRole("tab", { name: "Files" }).click();
  const payloads = Object.entries(files).map(([name, content]) => {
    return { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) };
  });
  await page.locator("#files-input").setInputFiles(payloads);
}
