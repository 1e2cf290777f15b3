/** The playground in a real browser, with the whole service behind it. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { execa } from "execa";
import type { BrowserContextOptions, Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, it, onTestFinished } from "vitest";
import { closeServer, listenOnLoopback } from "../support/loopback-server.ts";
import { readPdf } from "../support/readers/pdf-reader.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { expectAccessible } from "./accessibility.ts";
import { addFiles, browserStage, chooseExample, keepPicture, openPage, writeInto } from "./browser.ts";

const stage = browserStage({ settings: { SERVICE_MAX_INLINE_FILE_BYTES: "50000" } });

/** The playground with a token, its examples loaded. */
async function openPlayground(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(stage.browser, new URL(`/#token=${API_TOKEN}`, stage.service.edge.url), options);
  await page.locator("#examples button").first().waitFor({ state: "attached" });
  return page;
}

const render = (page: Page) => page.getByRole("button", { name: "Render" }).click();
/** A page of a PDF that has been drawn. */
const PDF_PAGE = '.pdf-pages:not(.is-loading) .page[data-loaded="true"]';
/** The text that can be selected on the first page of the PDF. */
const pdfText = (page: Page) => page.locator(".textLayer").first().textContent();
const summary = (page: Page) => page.locator("#result-summary").textContent();

describe("rendering", () => {
  it("turns an example into a picture of the invoice, and a file", async () => {
    const page = await openPlayground();
    await chooseExample(page, "Invoice");
    await render(page);
    const sheet = page.locator(PDF_PAGE);
    await sheet.waitFor();
    await expect.poll(() => sheet.locator(".textLayer").textContent()).toContain("8,940.45");
    const picture = PNG.sync.read(await sheet.locator("canvas").screenshot());
    // The header of the table is a band of dark teal; its first cell takes two fifths of the page.
    expect(
      longestRun(picture, ([red, green, blue]) => red < 60 && green > 50 && green < 110 && blue > 50),
    ).toBeGreaterThan(picture.width / 3);
    expect(await summary(page)).toMatch(/^invoice-TH-2026-0417\.pdf · 1 page · [\d.]+ KiB · [\d.]+ s$/);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("invoice-TH-2026-0417.pdf");
    const { pageTexts } = await readPdf(await readFile(await download.path()));
    expect(pageTexts.join()).toContain("Tarn & Holloway");
    await expectAccessible(page);
    await keepPicture(page, "invoice");
  });

  it("shows the examples that no other test opens", async () => {
    const page = await openPlayground();
    for (const name of ["Accessible letter", "Brand letter", "E-invoice"]) {
      await chooseExample(page, name);
      await page.getByText(`Example loaded: ${name}.`).waitFor();
      await render(page);
      await page.getByText("Outdated", { exact: true }).waitFor({ state: "hidden" });
      await expect.poll(() => summary(page)).toMatch(/ · \d+ pages? · /);
      await keepPicture(page, name.toLowerCase().replace(" ", "-"));
    }
  });

  it("lists the entries of an archive, shows each page and offers each as a file", async () => {
    const page = await openPlayground();
    await chooseExample(page, "Slides");
    await render(page);
    const entries = page.locator(".entries li");
    await entries.first().waitFor();
    expect(await entries.count()).toBe(8);
    await page.getByRole("button", { name: "page-03.svg" }).click();
    const picture = page.getByAltText("The rendered file page-03.svg");
    await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(100);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download page-03.svg" }).click(),
    ]);
    expect(await readFile(await download.path(), "utf8")).toMatch(/^<svg/);
    await expectAccessible(page);
  });

  it("shows an SVG as a picture and never as a part of the page", async () => {
    const page = await openPlayground();
    await writeInto(
      page,
      "Template (Typst)",
      '#set page(width: 60mm, height: 30mm)\nHello #link("https://example.com")[there]',
    );
    await page.getByRole("radio", { name: "SVG" }).check();
    await render(page);
    await page.locator(".sheet img").waitFor();
    expect(await page.locator("#result svg").count()).toBe(0);
  });

  it("can be cancelled, and the next render works", async () => {
    const page = await openPlayground();
    await writeInto(page, "Template (Typst)", "#for a in range(100000) { for b in range(100000) { let sum = a + b } }");
    await render(page);
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    await keepPicture(page, "rendering");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "Cancelled" }).waitFor();
    await chooseExample(page, "Certificate");
    await render(page);
    await page.locator(".sheet img").waitFor();
  });
});

/** The longest row of pixels that match. */
function longestRun({ width, height, data }: PNG, matches: (pixel: [number, number, number]) => boolean): number {
  let longest = 0;
  for (let y = 0; y < height; y++) {
    let run = 0;
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4;
      run = matches([data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0]) ? run + 1 : 0;
      longest = Math.max(longest, run);
    }
  }
  return longest;
}

describe("validation", () => {
  it("shows at the field why a request would be rejected before it is sent, and moves the focus there", async () => {
    const page = await openPlayground();
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.url()));
    await page.getByLabel("Pages").fill("3-1");
    const message = page.locator("#output-pages-message");
    await expect.poll(() => message.textContent()).toContain("2-5, not 5-2");
    await page.getByRole("tab", { name: "Data" }).focus();
    await render(page);
    await page.locator('.problem[data-code="invalid_request"]').waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("output-pages");
    expect(await page.getByLabel("Pages").getAttribute("aria-invalid")).toBe("true");
    expect(sent.filter((url) => url.endsWith("/v1/render"))).toEqual([]);
    await expectAccessible(page);
    await keepPicture(page, "rejected");
    await page.getByLabel("Pages").fill("1-3");
    await expect.poll(() => message.textContent()).toBe("");
  });

  it("marks a mistake at its place in the data", async () => {
    const page = await openPlayground();
    await page.getByRole("tab", { name: "Data" }).click();
    await writeInto(page, "Data (JSON)", '{\n  "a": 1,\n  b: 2\n}');
    const message = page.locator("#data-message");
    await expect.poll(() => message.textContent()).toBe("Not valid JSON: see line 3, column 3.");
    await writeInto(page, "Data (JSON)", '{ "name": { "price": [1, 1e999] } }');
    await expect.poll(() => message.textContent()).toContain("out of range");
    expect(await page.locator(".cm-lintRange-error").textContent()).toBe("1e999");
    expect(await page.getByRole("tab", { name: /Data/ }).textContent()).toContain("1");
    await expectAccessible(page);
  });

  it("uses the limits of the deployment", async () => {
    const page = await openPlayground();
    const add = async () => {
      await addFiles(page, { "big.bin": Buffer.alloc(50_001, 255), "small.bin": Buffer.alloc(50_000, 255) });
      return page.locator("#files-notice").textContent();
    };
    // The page fetches the limits when the viewer is loaded. Until then it accepts both.
    await expect.poll(add).toContain("1 file added. big.bin was not added");
  });

  it("accepts files by picker and by drop, and shows a wrong path at its file", async () => {
    const page = await openPlayground();
    await page.getByRole("tab", { name: "Files" }).click();
    await page.locator("#files-input").setInputFiles([
      { name: "größe.txt", mimeType: "text/plain", buffer: Buffer.from("grün") },
      { name: "fine.txt", mimeType: "text/plain", buffer: Buffer.from("fine") },
    ]);
    await expect.poll(() => page.locator("#file-0-message").textContent()).toContain("allowed are the letters");
    expect(await page.locator("#file-1-message").textContent()).toBe("");
    await page.getByLabel("Path of file 1").fill("size.txt");
    await expect.poll(() => page.locator("#file-0-message").textContent()).toBe("");
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.of(0xff, 0xd8)], "photo.jpg"));
      return data;
    });
    await page.dispatchEvent("#files-panel", "drop", { dataTransfer: transfer });
    await expect.poll(() => page.getByLabel("Path of file 3").inputValue()).toBe("photo.jpg");
    expect(await page.locator("#files-list li").nth(2).textContent()).toContain("binary");
    await page.getByRole("button", { name: "Remove photo.jpg" }).click();
    await page.getByRole("tab", { name: "Template" }).click();
    await writeInto(page, "Template (Typst)", '#read("size.txt") is #read("fine.txt")');
    await render(page);
    await page.locator(PDF_PAGE).waitFor();
    await expect.poll(() => pdfText(page)).toContain("grün is fine");
    await keepPicture(page, "files");
  });
});

describe("the token", () => {
  it("moves from the link into the session of the tab, and out of the address", async () => {
    const page = await openPlayground();
    expect(page.url()).toBe(stage.service.edge.url.toString());
    const stored = '[sessionStorage.getItem("api-token"), JSON.stringify(localStorage), document.cookie]';
    expect(await page.evaluate(stored)).toEqual([API_TOKEN, "{}", ""]);
  });

  it("is not replaced by another page's link unless somebody saves the new one", async () => {
    const page = await openPlayground();
    const stored = () => page.evaluate('sessionStorage.getItem("api-token")');
    await page.evaluate('location.hash = "#token=of-a-stranger"');
    await page.getByRole("dialog").waitFor();
    expect(await page.locator("#token-offer").isVisible()).toBe(true);
    expect([page.url(), await stored()]).toEqual([stage.service.edge.url.toString(), API_TOKEN]);
    await page.getByRole("button", { name: "Cancel" }).click();
    expect(await stored()).toBe(API_TOKEN);
    await page.goto(new URL("/#token=of-a-stranger", stage.service.edge.url).href);
    await page.getByRole("dialog").waitFor();
    expect(await stored()).toBe(API_TOKEN);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    expect(await stored()).toBe("of-a-stranger");
  });

  it("cannot be changed by a page that has opened this one", async () => {
    const other = createServer((_request, response) => {
      response.setHeader("Content-Type", "text/html").end("<!doctype html><title>Another page</title>");
    });
    const { origin } = await listenOnLoopback(other);
    onTestFinished(() => closeServer(other));
    const opener = await openPage(stage.browser, origin);
    const [page] = await Promise.all([
      opener.context().waitForEvent("page"),
      opener.evaluate(`void (window.opened = window.open("${stage.service.edge.url}#token=${API_TOKEN}"))`),
    ]);
    await page.getByRole("button", { name: "Render" }).waitFor();
    expect(await opener.evaluate("window.opened.closed")).toBe(true);
    expect(await page.evaluate("window.opener")).toBeNull();
  });

  it("is asked for when it is missing, and a wrong one is reported", async () => {
    const page = await openPage(stage.browser, stage.service.edge.url);
    await page.getByRole("button", { name: "Render" }).click();
    await page.getByRole("dialog").waitFor();
    await expectAccessible(page);
    await keepPicture(page, "token");
    await page.getByLabel("Token", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "rejected" }).waitFor();
    await render(page);
    await page.locator('.problem[data-code="forbidden"]').waitFor();
    await page.getByRole("button", { name: "API token" }).click();
    await page.getByLabel("Token", { exact: true }).fill(API_TOKEN);
    await page.keyboard.press("Enter");
    await render(page);
    await page.locator(PDF_PAGE).waitFor();
  });

  it("is a variable in the curl command, which makes the same document, of a long request from a file", async () => {
    const page = await openPlayground();
    const folder = await makeTemporaryFolder("curl-test-");
    const firstPage = async (file: string) => {
      const command = await page.getByLabel("Command").inputValue();
      expect(command).not.toContain(API_TOKEN);
      await execa("bash", ["-c", command], { cwd: folder, env: { SERVICE_API_TOKEN: API_TOKEN } });
      return (await readPdf(await readFile(join(folder, file)))).pageTexts[0];
    };
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await keepPicture(page, "curl");
    expect(await firstPage("hello.pdf")).toContain("Hello, world!");
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await chooseExample(page, "Invoice");
    await page.getByText("Example loaded: Invoice.").waitFor();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save request.json" }).click(),
    ]);
    await download.saveAs(join(folder, download.suggestedFilename()));
    expect(await firstPage("invoice-TH-2026-0417.pdf")).toContain("TH-2026-0417");
  });
});

describe("the page", () => {
  it("can be used by the keyboard alone", async () => {
    const page = await openPlayground();
    const tabTo = async (isThere: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if (await page.evaluate(isThere)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`Tab does not lead to ${isThere}`);
    };
    await tabTo('document.activeElement.parentElement.id === "examples-menu"');
    await page.keyboard.press("Enter");
    await tabTo('document.activeElement.textContent === "Invoice"');
    await page.keyboard.press("Enter");
    // An example shows the tab of its template when it comes.
    await page.locator(".cm-line", { hasText: "lib/invoice.typ" }).first().waitFor();
    await tabTo('document.activeElement.id === "source-tab"');
    await page.keyboard.press("ArrowRight");
    expect(await page.getByRole("tab", { selected: true }).textContent()).toContain("Data");
    // Through the editor, which does not use Tab for itself.
    await tabTo('document.activeElement.id === "data-editor"');
    await tabTo('document.activeElement.name === "format"');
    await page.keyboard.press("ArrowRight");
    expect(await page.getByRole("radio", { name: "PNG" }).isChecked()).toBe(true);
    await tabTo('document.activeElement.id === "render"');
    await page.keyboard.press("Enter");
    await page.locator(".sheet img").waitFor();
    await page.keyboard.press("Control+Enter");
    await expect.poll(() => summary(page)).toContain("invoice-TH-2026-0417.png");
  });

  it("tells a screen reader what is happening", async () => {
    const page = await openPlayground();
    await render(page);
    await page.locator(PDF_PAGE).waitFor();
    expect(await page.locator("#status").textContent()).toMatch(/^Finished: hello\.pdf · 1 page/);
    const { name, description } = (await ariaOf(page)) ?? {};
    expect([name, description]).toEqual(["Template (Typst)", ""]);
    await writeInto(page, "Template (Typst)", "");
    await page.keyboard.press("Backspace");
    await expect.poll(async () => (await ariaOf(page))?.description).toContain("must not be empty");
  });

  it.each(["light", "dark"] as const)("has enough contrast in the %s scheme", async (colorScheme) => {
    const page = await openPlayground({ colorScheme });
    await chooseExample(page, "Report");
    for (const name of ["Files", "Data", "Template"]) {
      await page.getByRole("tab", { name }).click();
      await expectAccessible(page);
    }
    await render(page);
    await page.locator(PDF_PAGE).first().waitFor();
    // The viewer adds the tags of a page last. Its links point to them before.
    await expect.poll(() => page.locator(`${PDF_PAGE}:not(:has(.structTree))`).count()).toBe(0);
    await expectAccessible(page);
    await keepPicture(page, `report-${colorScheme}`);
  });

  it("fits on a phone and scrolls to the result when it arrives", async () => {
    const page = await openPlayground({
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
      deviceScaleFactor: 2,
    });
    await chooseExample(page, "Certificate");
    await keepPicture(page, "phone");
    await render(page);
    const picture = page.locator(".sheet img");
    await picture.waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    await expect.poll(() => picture.evaluate((image) => image.getBoundingClientRect().top < innerHeight)).toBe(true);
    await expectAccessible(page);
    await keepPicture(page, "phone-result");
  });

  it("sends requests to this deployment only", async () => {
    const page = await openPage(stage.browser, "about:blank");
    const hosts = new Set<string>();
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol.startsWith("http")) hosts.add(host);
    });
    await page.goto(new URL(`/#token=${API_TOKEN}`, stage.service.edge.url).toString());
    await render(page);
    await page.locator(PDF_PAGE).waitFor();
    expect([...hosts]).toEqual([stage.service.edge.url.host]);
  });
});

/** The name and description of the template's editor as screen readers get them. */
async function ariaOf(page: Page): Promise<{ name: string; description: string } | null> {
  return page.getByRole("textbox", { name: "Template (Typst)" }).evaluate((editor) => {
    const root = editor.getRootNode();
    const id = editor.getAttribute("aria-describedby") ?? "";
    if (!(root instanceof ShadowRoot)) return null;
    return { name: editor.getAttribute("aria-label") ?? "", description: root.getElementById(id)?.textContent ?? "" };
  });
}
