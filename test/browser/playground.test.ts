/** The playground in a real browser, with the whole service behind it: what it shows, refuses and asks for. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import { describe, expect, onTestFinished } from "vitest";
import { CLIENTS_PAGE, HELP_PAGES, helpPath } from "../../protocol/routes.ts";
import { readPdf } from "../support/readers/pdf-reader.ts";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { expectAccessible } from "./accessibility.ts";
import {
  addFiles,
  browserStage,
  chooseExample,
  downloadBy,
  drawnPage,
  openFile,
  openPage,
  outdated,
  render,
  renderTemplate,
  servePage,
  summary,
  tab,
  template,
  writeInto,
  writeTemplate,
} from "./browser.ts";

const stage = browserStage({ settings: { SERVICE_MAX_INLINE_FILE_BYTES: "50000" } });
const { it } = stage;
/** The text that can be selected on the first page of the PDF. */
const pdfText = (page: Page) => page.locator(".textLayer").first().textContent();

describe("rendering", () => {
  it("turns an example into the pages of the invoice, and a file, by requests to this deployment only", async () => {
    const page = await openPage(stage.browser, "about:blank");
    const hosts = new Set<string>();
    page.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      if (protocol.startsWith("http")) hosts.add(host);
    });
    await page.goto(stage.address());
    await chooseExample(page, "Invoice");
    await render(page);
    await drawnPage(page).waitFor();
    await expect.poll(() => pdfText(page)).toContain("8,940.45");
    const { data } = PNG.sync.read(await drawnPage(page).locator("canvas").screenshot());
    // It is no blank sheet.
    expect(new Set(new Uint32Array(data.buffer, data.byteOffset, data.length / 4)).size).toBeGreaterThan(50);
    expect(await summary(page)).toMatch(/^invoice-TH-2026-0417\.pdf · 1 page · [\d.]+ KiB · [\d.]+ s$/);
    const { name, content } = await downloadBy(page, () => page.getByRole("button", { name: "Download" }).click());
    expect(name).toBe("invoice-TH-2026-0417.pdf");
    expect((await readPdf(content)).pageTexts.join()).toContain("Tarn & Holloway");
    expect([...hosts]).toEqual([stage.service.edge.url.host]);
    await expectAccessible(page);
  });

  it("lists the entries of an archive, offers each as a file and shows an SVG as a picture, never as a part of the page", async ({
    page,
  }) => {
    await chooseExample(page, "Slides");
    await render(page);
    const entries = page.locator(".entries li");
    await entries.first().waitFor();
    expect(await entries.count()).toBe(8);
    await page.getByRole("button", { name: "page-03.svg" }).click();
    const picture = page.getByAltText("The rendered file page-03.svg");
    await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(100);
    expect(await page.locator("#result svg").count()).toBe(0);
    const { content } = await downloadBy(page, () => page.getByRole("link", { name: "Download page-03.svg" }).click());
    expect(content.toString()).toMatch(/^<svg/);
    await expectAccessible(page);
  });

  it("can be cancelled, and the next render works", async ({ page }) => {
    await renderTemplate(page, "#for a in range(100000) { for b in range(100000) { let sum = a + b } }");
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "Cancelled" }).waitFor();
    await chooseExample(page, "Certificate");
    await render(page);
    await page.locator(".sheet img").waitFor();
  });
});

describe("validation", () => {
  it("shows at the field why a request would be rejected, unfolds it, and moves the focus there", async () => {
    const page = await stage.open({ viewport: { width: 1024, height: 768 } });
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.url()));
    await page.getByText("Options hello.pdf").click();
    await page.getByLabel("Pages").fill("3-1");
    const message = page.locator("#output-pages-message");
    await expect.poll(() => message.textContent()).toContain("2-5, not 5-2");
    // The check by the deployment's limits, when they come, may open it again.
    const fold = async () => {
      await page.getByText("Options hello.pdf").click();
      return page.getByLabel("Pages").isVisible();
    };
    await expect.poll(fold).toBe(false);
    await render(page);
    await page.locator('.problem[data-code="invalid_request"]').waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("output-pages");
    expect(await page.getByLabel("Pages").getAttribute("aria-invalid")).toBe("true");
    expect(sent.filter((url) => url.endsWith("/v1/render"))).toEqual([]);
    await expectAccessible(page);
    await page.getByLabel("Pages").fill("1-3");
    await expect.poll(() => message.textContent()).toBe("");
  });

  it("marks a mistake at its place in the data", async ({ page }) => {
    await writeInto(page, "Data (JSON)", '{\n  "a": 1,\n  b: 2\n}');
    const message = page.locator("#data-message");
    await expect.poll(() => message.textContent()).toBe("Not valid JSON: see line 3, column 3.");
    await writeInto(page, "Data (JSON)", '{ "name": { "price": [1, 1e999] } }');
    await expect.poll(() => message.textContent()).toContain("out of range");
    expect(await page.locator(".cm-lintRange-error").textContent()).toBe("1e999");
    expect(await tab(page, /Data/).textContent()).toContain("1");
    await expectAccessible(page);
  });

  it("accepts files by picker and by drop, and gives a file with a wrong path a better one", async ({ page }) => {
    await addFiles(page, { "größe.txt": "grün", "groesse.txt": "fine" });
    await expect.poll(() => page.locator("#file-0-message").textContent()).toContain("allowed are the letters");
    expect(await page.locator("#file-1-message").textContent()).toBe("");
    await page.getByRole("button", { name: "Rename to groesse-2.txt" }).click();
    expect(await page.getByLabel("Path of file 1").inputValue()).toBe("groesse-2.txt");
    await expect.poll(() => page.locator("#validation").textContent()).toBe("Valid request");
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.of(0xff, 0xd8)], "photo.jpg"));
      return data;
    });
    await page.dispatchEvent("#files-panel", "drop", { dataTransfer: transfer });
    await expect.poll(() => page.getByLabel("Path of file 3").inputValue()).toBe("photo.jpg");
    expect(await page.locator("#files-list li").nth(2).textContent()).toContain("binary");
    await page.getByRole("button", { name: "Remove photo.jpg" }).click();
    await renderTemplate(page, '#read("groesse-2.txt") is #read("groesse.txt")');
    await drawnPage(page).waitFor();
    await expect.poll(() => pdfText(page)).toContain("grün is fine");
  });
});

describe("the token", () => {
  it("moves from the link into the session of the tab, where only who saves another one replaces it", async ({
    page,
  }) => {
    const own = stage.service.edge.url.toString();
    const stored = () => page.evaluate('sessionStorage.getItem("api-token")');
    const elsewhere = await page.evaluate("[JSON.stringify(localStorage), document.cookie]");
    expect(elsewhere).toEqual(['{"render-while-typing":"off"}', ""]);
    await page.evaluate('location.hash = "#token=of-a-stranger"');
    await page.getByRole("dialog").waitFor();
    expect(await page.locator("#token-offer").isVisible()).toBe(true);
    expect([page.url(), await stored()]).toEqual([own, API_TOKEN]);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.goto(new URL("/#token=of-a-stranger", own).href);
    await page.getByRole("dialog").waitFor();
    expect(await stored()).toBe(API_TOKEN);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    expect(await stored()).toBe("of-a-stranger");
  });

  it("cannot be changed by a page that has opened this one", async () => {
    const { origin, stop } = await servePage();
    onTestFinished(stop);
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
    await page.getByLabel("Token", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "rejected" }).waitFor();
    await render(page);
    await page.locator('.problem[data-code="forbidden"]').waitFor();
    await page.getByRole("button", { name: "API token" }).click();
    await page.getByLabel("Token", { exact: true }).fill(API_TOKEN);
    await page.keyboard.press("Enter");
    await render(page);
    await drawnPage(page).waitFor();
  });

  it("is a variable in the curl command, which makes the same document, of a long request from a file", async ({
    page,
  }) => {
    const folder = await makeTemporaryFolder("curl-test-");
    const firstPage = async (file: string) => {
      const command = await page.getByLabel("Command").inputValue();
      expect(command).not.toContain(API_TOKEN);
      await execa("bash", ["-c", command], { cwd: folder, env: { SERVICE_API_TOKEN: API_TOKEN } });
      return (await readPdf(await readFile(join(folder, file)))).pageTexts[0];
    };
    await page.getByRole("button", { name: "Copy as curl" }).click();
    expect(await firstPage("hello.pdf")).toContain("Hello, world!");
    await page.getByRole("button", { name: "Close", exact: true }).click();
    await chooseExample(page, "Invoice");
    await page.getByText("Example loaded: Invoice.").waitFor();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const { name, content } = await downloadBy(page, () =>
      page.getByRole("button", { name: "Save request.json" }).click(),
    );
    await writeFile(join(folder, name), content);
    expect(await firstPage("invoice-TH-2026-0417.pdf")).toContain("TH-2026-0417");
  });
});

describe("the page", () => {
  it("can be used by the keyboard alone", async ({ page }) => {
    const tabTo = async (isThere: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if (await page.evaluate(isThere)) return;
        await page.keyboard.press("Tab");
      }
      throw new Error(`Tab does not lead to ${isThere}`);
    };
    await tabTo('document.activeElement.id === "examples-button"');
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

  it("tells a screen reader what is happening", async ({ page }) => {
    await render(page);
    await drawnPage(page).waitFor();
    expect(await page.locator("#status").textContent()).toMatch(/^Finished: hello\.pdf · 1 page/);
    const { name, description } = (await ariaOf(page)) ?? {};
    expect([name, description]).toEqual(["Template (Typst)", ""]);
    await writeTemplate(page, "");
    await page.keyboard.press("Backspace");
    await expect.poll(async () => (await ariaOf(page))?.description).toContain("must not be empty");
  });

  it.each(["light", "dark"] as const)(
    "has enough contrast in the %s scheme, as has the reference",
    async (colorScheme) => {
      const page = await stage.open({ colorScheme });
      await chooseExample(page, "Report");
      for (const name of ["Files", "Data", "Template"]) {
        await page.getByRole("tab", { name }).click();
        await expectAccessible(page);
      }
      await render(page);
      await drawnPage(page).waitFor();
      // The viewer draws the page after it unasked.
      await drawnPage(page, 2).locator(".structTree").waitFor({ state: "attached" });
      await expectAccessible(page);
      await page.getByRole("link", { name: "Reference", exact: true }).click();
      await page.locator(".opblock-post").first().waitFor();
      expect(await page.locator(".opblock").count()).toBeGreaterThan(3);
      await expectAccessible(page);
      await page.getByRole("link", { name: "Playground" }).click();
      await page.getByRole("button", { name: "Render", exact: true }).waitFor();
    },
  );

  it("fits on a phone and scrolls to the result when it arrives", async () => {
    const page = await stage.open({
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
      deviceScaleFactor: 2,
    });
    await addFiles(page, { "fonts-of-the-house-regular.csv": "a" });
    const name = page.getByLabel("Path of file 1");
    expect(await name.evaluate((input: HTMLInputElement) => input.scrollWidth <= input.clientWidth)).toBe(true);
    await expectAccessible(page);
    await chooseExample(page, "Certificate");
    await render(page);
    const picture = page.locator(".sheet img");
    await picture.waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    await expect.poll(() => picture.evaluate((image) => image.getBoundingClientRect().top < innerHeight)).toBe(true);
    await expectAccessible(page);
  });
});

describe("in colours that somebody has forced on all pages", () => {
  it("the chosen tab, the chosen format and what has the focus can be told from the others", async () => {
    const page = await stage.open({ forcedColors: "active" });
    const styleOf = (selector: string, property: string) =>
      page
        .locator(selector)
        .evaluateAll(
          (elements, name) => elements.map((element) => getComputedStyle(element).getPropertyValue(name)),
          property,
        );
    const underlines = await styleOf("[role=tab]", "border-bottom-width");
    expect(underlines.map(Number.parseFloat)).toEqual([2, 0, 0]);
    const [pdf, png, svg] = await styleOf(".format", "background-color");
    expect(png).toBe(svg);
    expect(pdf).not.toBe(png);
    const edgeOfEditor = async () => {
      const { data, width, height } = PNG.sync.read(await page.locator("#source-editor").screenshot());
      return data.readUInt32BE(4 * width * Math.floor(height / 2));
    };
    const unfocused = await edgeOfEditor();
    await template(page).click();
    expect(await edgeOfEditor()).not.toBe(unfocused);
    await expectAccessible(page);
  });
});

describe.each([...HELP_PAGES.map(helpPath), CLIENTS_PAGE])("the page of help %s", (path) => {
  it.each([
    [320, "light"],
    [390, "dark"],
    [1440, "light"],
  ] as const)("fits into a window %i wide and can be used by all (%s)", async (width, colorScheme) => {
    const address = new URL(path, stage.service.edge.url);
    const page = await openPage(stage.browser, address, { viewport: { width, height: 800 }, colorScheme });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    expect(await page.locator("main").textContent()).not.toContain("render.example");
    await expectAccessible(page);
  });
});

/** How a screen of 1280 × 1024 looks to who magnifies it to 400 % and 200 %, one of 1440 × 900 at 200 %, and a phone. */
const SMALL_WINDOWS = [
  [320, 256],
  [640, 512],
  [720, 450],
  [360, 640],
] as const;

describe.each(SMALL_WINDOWS)("in a window of %i × %i", (width, height) => {
  it("nothing that has the focus is covered", async () => {
    const page = await stage.open({ viewport: { width, height } });
    await page.locator("#output-options > summary").click();
    await page.getByRole("tab", { name: "Files" }).click();
    await page.evaluate("document.activeElement.blur()");
    const seen: string[] = [];
    for (;;) {
      await page.keyboard.press("Tab");
      const { name, coveredBy } = await page.evaluate(focusedAndCovered);
      if (seen.includes(name)) break;
      seen.push(name);
      expect(coveredBy, name).toEqual([]);
    }
    expect(seen).toEqual(
      expect.arrayContaining(["examples-button", "file-new", "output-profile", "render", "curl-button"]),
    );
  });

  it("the line that somebody writes is never covered", async () => {
    const page = await stage.open({ viewport: { width, height } });
    await template(page).click();
    await page.keyboard.press("Control+End");
    for (const key of [...Array(14).fill("Enter"), ...Array(20).fill("ArrowUp"), ...Array(20).fill("ArrowDown")]) {
      await page.keyboard.press(key);
      await expect.poll(() => page.evaluate(isCaretSeen), { message: key }).toBe(true);
    }
  });
});

/** What has the focus, and what is above it at any of the points of its part that is in the window. */
function focusedAndCovered(): { name: string; coveredBy: string[] } {
  const nameOf = (element: Element | null) =>
    element?.id || element?.parentElement?.id || element?.outerHTML || "nothing";
  const focused = document.activeElement ?? document.body;
  const { left, top, right, bottom } = focused.getBoundingClientRect();
  const [x1, y1, x2, y2] = [
    Math.max(left, 0),
    Math.max(top, 0),
    Math.min(right, innerWidth),
    Math.min(bottom, innerHeight),
  ];
  const coveredBy = [0.1, 0.5, 0.9]
    .flatMap((x) => [0.1, 0.5, 0.9].map((y) => document.elementFromPoint(x1 + x * (x2 - x1), y1 + y * (y2 - y1))))
    .filter((there) => !(focused.closest("label") ?? focused).contains(there));
  return { name: nameOf(focused), coveredBy: coveredBy.map(nameOf) };
}

function isCaretSeen(): boolean {
  const editor = document.querySelector("#source-editor");
  const line = editor?.shadowRoot?.querySelector(".cm-cursor-primary")?.getBoundingClientRect();
  if (editor === null || line === undefined) return false;
  const points = [line.top + 1, line.bottom - 1].map((y) => document.elementFromPoint(line.left, y));
  return points.every((there) => there === editor);
}

/** The name and description of the template's editor as screen readers get them. */
async function ariaOf(page: Page): Promise<{ name: string; description: string } | null> {
  return template(page).evaluate((editor) => {
    const root = editor.getRootNode();
    const id = editor.getAttribute("aria-describedby") ?? "";
    if (!(root instanceof ShadowRoot)) return null;
    return { name: editor.getAttribute("aria-label") ?? "", description: root.getElementById(id)?.textContent ?? "" };
  });
}

describe("the space", () => {
  it("has room for fifteen lines of the template at 1024 × 768, with the options folded", async () => {
    const page = await stage.open({ viewport: { width: 1024, height: 768 } });
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

  it.each([1440, 1280, 1024, 880])("has its header in one line in a window %i wide", async (width) => {
    const page = await stage.open({ viewport: { width, height: 768 } });
    for (const link of await page.locator(".page-header nav a").all()) {
      expect((await link.boundingBox())?.height).toBeLessThan(30);
    }
    expect((await page.locator(".page-header").boundingBox())?.height).toBeLessThan(60);
  });

  it("keeps Render in view at 1280 × 720, whatever options are open", async () => {
    const page = await stage.open({ viewport: { width: 1280, height: 720 } });
    await page.getByText("Options hello.pdf").click();
    await page.getByText("More", { exact: true }).click();
    await page.getByLabel("PDF version").scrollIntoViewIfNeeded();
    for (const name of ["Render", "Copy as curl"]) {
      const { bottom } = await page
        .getByRole("button", { name, exact: true })
        .evaluate((button) => button.getBoundingClientRect().toJSON());
      expect(bottom).toBeLessThanOrEqual(720);
    }
    expect(await page.locator("#request").evaluate((request) => request.scrollHeight - request.clientHeight)).toBe(0);
    await expectAccessible(page);
  });
});

describe("the result", () => {
  it("says what it is, bears the draft's name, and keeps its colours when it is outdated", async ({ page }) => {
    await writeTemplate(page, '#set document(title: "Prices")\n= Price list 2027\n');
    await page.getByLabel("File name").fill("");
    await page.getByLabel("PDF/A profile").selectOption("a-2b");
    await page.getByLabel("Accessible (PDF/UA-1)").check();
    await render(page);
    await expect.poll(() => summary(page)).toMatch(/^Price-list-2027\.pdf · PDF\/A-2b · PDF\/UA-1 · 1 page · /);
    for (const [button, fileName] of [
      ["Download", "Price-list-2027.pdf"],
      ["Save ZIP", "Price-list-2027.zip"],
    ] as const) {
      expect((await downloadBy(page, () => page.getByRole("button", { name: button }).click())).name).toBe(fileName);
    }
    await template(page).press("End");
    await page.keyboard.type("x");
    await outdated(page).waitFor();
    expect(await page.locator("#result-document").evaluate((host) => getComputedStyle(host).filter)).toBe("none");
    await expectAccessible(page);
  });

  it("of a template that does not compile names the causes that the request makes likely, and a command", async ({
    page,
  }) => {
    await writeTemplate(page, "= Price list\n#rect(fill: rgb(255, 0, 0, 50%))");
    await page.getByLabel("File name").fill("");
    await page.getByLabel("PDF/A profile").selectOption("a-1b");
    await page.getByLabel("Pages").fill("1-2,5-");
    await render(page);
    const problem = page.locator(".problem");
    await problem.waitFor();
    expect(await problem.textContent()).toMatch(/^Template compile failed.*request [0-9a-f-]{36}$/);
    await problem.getByText("The template itself compiles in this page").waitFor();
    expect(await problem.getByText("A misspelled name").count()).toBe(0);
    expect(await problem.locator("ul").last().locator("li").first().textContent()).toContain("transparency");
    // Without npx, which would run any package that a registry has under this name.
    const command = "document-rendering check Price-list";
    expect(await problem.locator(".command code").textContent()).toBe(command);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy the command" }).click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(command);
    await expectAccessible(page);
  });

  it("of a PDF that breaks its standard says the numbers, which the service does not", async ({ page }) => {
    await writeTemplate(page, '#set document(title: "T")\n#set page(height: 15586pt)\nx');
    await page.getByLabel("PDF/A profile").selectOption("a-2b");
    await render(page);
    const problem = page.locator(".problem");
    await problem.getByText("PDF/A-2 and PDF/A-3 allow pages of 3 to 14,400 pt").waitFor();
    await problem.getByText("Page 1 is 15,586 pt high; PDF/A-2 allows 14,400. PDF/A-4 has no such bound.").waitFor();
    expect(await problem.getByText("Usual causes").count()).toBe(0);
    await expectAccessible(page);
  });

  it("names missing families above the document until they are there, or there is no document", async ({ page }) => {
    const warnings = page.locator("#result-warnings li");
    const isLoaded = () =>
      page.evaluate('performance.getEntriesByType("resource").some(({ name }) => name.endsWith("/missing-fonts.js"))');
    const missing = '#set text(font: "Libertine")\nGrüße';
    // On a slow line, the code for warnings comes after the first document.
    expect(await isLoaded()).toBe(false);
    await renderTemplate(page, missing);
    await expect
      .poll(() => warnings.allTextContents())
      .toEqual(['The service has no font family "Libertine", and the request brings none: Typst uses another font.']);
    expect(await isLoaded()).toBe(true);
    await expectAccessible(page);
    await renderTemplate(page, '#set text(font: "Libertinus Serif")\nGrüße');
    await expect.poll(() => warnings.count()).toBe(0);
    await renderTemplate(page, missing);
    await expect.poll(() => warnings.count()).toBe(1);
    await renderTemplate(page, "#unknown-function()");
    await page.locator(".problem").waitFor();
    expect(await warnings.count()).toBe(0);
  });

  it("names what it lacks: characters, scripts and, of images, families; of an image, by the scripts of the service", async ({
    page,
  }) => {
    const warnings = page.locator("#result-warnings li");
    const content =
      '<text font-family="Nope">x</text><foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>';
    await addFiles(page, { "a.svg": `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${content}</svg>` });
    const ofImage = [
      expect.stringContaining("a.svg: Typst does not draw the text in foreignObject."),
      expect.stringContaining('a.svg has text in "Nope", which neither the service nor the request has'),
    ];
    await renderTemplate(page, 'Grüße 山田 नमस्ते #image("a.svg")');
    await expect
      .poll(() => warnings.allTextContents())
      .toEqual([
        ...ofImage,
        expect.stringContaining("2 characters of the document are empty boxes"),
        expect.stringContaining("letters of Devanagari, so Typst sets them in New Computer Modern Math"),
      ]);
    await page.getByRole("radio", { name: "SVG" }).check();
    await render(page);
    await expect
      .poll(() => warnings.allTextContents())
      .toEqual([
        ...ofImage,
        expect.stringContaining("have text in Han and Devanagari, for which the service has no font"),
      ]);
  });
});

describe("a file that Typst cannot use", () => {
  it("is named where it is added, with what to do, and the request can be sent", async ({ page }) => {
    await addFiles(page, { "prices.csv": Buffer.from("Preis;größer", "latin1"), "fine.csv": "a;b" });
    const messages = page.locator("#files-list .message");
    const told = "prices.csv is not UTF-8: save it as UTF-8. Convert it to UTF-8";
    await expect.poll(() => messages.allTextContents()).toEqual([told, ""]);
    expect(await page.locator("#validation").textContent()).toBe("Valid request, 1 hint");
    await openFile(page, "prices.csv");
    await page.getByText("This file is not UTF-8: save it as UTF-8").waitFor();
    await expectAccessible(page);
    await tab(page, "Files").click();
    await page.getByRole("button", { name: "Convert it to UTF-8" }).click();
    await expect.poll(() => messages.allTextContents()).toEqual(["", ""]);
    await renderTemplate(page, '#csv("prices.csv", delimiter: ";").flatten().join(" und ")');
    await drawnPage(page).waitFor();
    await expect.poll(() => pdfText(page)).toContain("Preis und größer");
  });
});

describe("a file of the request", () => {
  it("that is a photograph over the limit is scaled down, as its EXIF turns it", async ({ page }) => {
    const photo = await page.evaluate(async () => {
      const canvas = new OffscreenCanvas(600, 400);
      const context = canvas.getContext("2d");
      const noise = new ImageData(600, 400);
      for (let at = 0; at < noise.data.length; at++) noise.data[at] = (at * 7919 * (at % 101)) % 256;
      context?.putImageData(noise, 0, 0);
      return (await (await canvas.convertToBlob({ type: "image/jpeg", quality: 1 })).bytes()).toBase64();
    });
    const jpeg = Buffer.from(photo, "base64");
    // Orientation 6: to be turned to the right by a quarter.
    const exif = Buffer.from("ffe100224578696600004d4d002a00000008000101120003000000010006000000000000", "hex");
    const files = { "photo.jpg": Buffer.concat([jpeg.subarray(0, 2), exif, jpeg.subarray(2)]) };
    const add = page.getByRole("button", { name: "Add photo.jpg scaled down" });
    // Until the page has the limits of the deployment, it takes larger files.
    await expect
      .poll(async () => {
        if ((await add.count()) === 0) await addFiles(page, files);
        return add.count();
      })
      .toBe(1);
    await add.click();
    await page.getByText(/photo\.jpg added with [\d.]+ KiB/).waitFor();
    await renderTemplate(
      page,
      '#context { let size = measure(image("photo.jpg")); [High: #(size.width < size.height)] }',
    );
    await drawnPage(page).waitFor();
    await expect.poll(() => pdfText(page)).toContain("High: true");
    await expectAccessible(page);
  });
});

it("makes rows of cells that are pasted into the data", async ({ page }) => {
  await tab(page, /^Data/).click();
  await page.getByRole("textbox", { name: "Data (JSON)" }).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate('navigator.clipboard.writeText("Name\\tPrice\\nInk\\t12.50")');
  await page.keyboard.press("ControlOrMeta+v");
  const text = () => page.getByRole("textbox", { name: "Data (JSON)" }).textContent();
  await expect.poll(text).toBe('{  "rows": [    { "Name": "Ink", "Price": 12.50 }  ]}');
});
