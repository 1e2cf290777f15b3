/**
 * A browser for a test file, and pages in it that fail the test if they report an error: an exception, a message of
 * `console.error`, or something that their policy has blocked.
 */
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect, inject, onTestFinished } from "vitest";
import { launchChromium, type RunningBrowser } from "./chromium.ts";

/** The folder of screenshots, for people to look at. It is not checked in. */
const PICTURES = fileURLToPath(new URL("../../out/browser/", import.meta.url));

/** Longer than anything takes on a busy machine. */
const ACTION_TIMEOUT_MILLISECONDS = 120_000;

const EXPECTED_ERROR =
  /the server responded with a status|^Failed to load resource: net::ERR_(?:INTERNET_DISCONNECTED|FAILED)$/;

/** Starts a Chromium with a home folder of its own, which is removed with it. */
export async function startBrowser(): Promise<RunningBrowser> {
  await mkdir(PICTURES, { recursive: true });
  return launchChromium(inject("chromiumPath"), inject("bubblewrapPath"));
}

/** A page at a URL, in its own context, which is closed with the test. Its errors fail the test. */
export async function openPage(
  browser: Browser,
  url: URL | string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MILLISECONDS);
  onTestFinished(() => context.close());
  return openPageIn(context, url);
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
  return page;
}

/** Keeps a screenshot of the page. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: `${PICTURES}${name}.png` });
}
