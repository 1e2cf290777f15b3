/**
 * A browser for a test file, and pages in it that fail the test when the page reports an error: an exception, a message of
 * `console.error`, or something that its policy has stopped.
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, inject, onTestFinished } from "vitest";

/** Where pictures of the pages are kept, to be looked at. Not checked in. */
const PICTURES = fileURLToPath(new URL("../../out/browser/", import.meta.url));

/** Longer than anything takes on a busy machine. */
const ACTION_TIMEOUT_MILLISECONDS = 120_000;

export interface TestBrowser {
  readonly browser: Browser;
  stop(): Promise<void>;
}

/** Starts a Chromium with a home folder of its own, which is removed with it. */
export async function startBrowser(): Promise<TestBrowser> {
  await mkdir(PICTURES, { recursive: true });
  const home = await mkdtemp(join(tmpdir(), "browser-home-"));
  const browser = await chromium.launch({
    executablePath: inject("chromiumPath"),
    env: {
      PATH: process.env.PATH,
      HOME: home,
      TMPDIR: process.env.TMPDIR ?? tmpdir(),
      // For the launcher of a fetched Chromium.
      SERVICE_BUBBLEWRAP_BIN: inject("bubblewrapPath"),
    },
  });
  return {
    browser,
    stop: async () => {
      await browser.close();
      await rm(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** A page at an address, which is closed with the test. Its errors fail the test. */
export async function openPage(
  browser: Browser,
  url: URL | string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MILLISECONDS);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => {
    // A status that is an error is reported as one, and is what some tests want.
    if (message.type() === "error" && !message.text().includes("the server responded with a status")) {
      errors.push(message.text());
    }
  });
  onTestFinished(async () => {
    await context.close();
    expect(errors).toEqual([]);
  });
  await page.goto(url.toString());
  return page;
}

/** Keeps a picture of what the page shows. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${PICTURES}${name}.png` });
}
