/** Editing in the playground: files in tabs, search, completion, and what the compiler and a data schema find. */
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { DATA_MISTAKES, dataWith, memberOf, SCHEMA_OF_MISTAKES } from "../support/clients/data-mistakes.ts";
import { expectAccessible } from "./accessibility.ts";
import {
  addFiles,
  browserStage,
  openFile,
  openPage,
  render,
  renderTemplate,
  summary,
  tab,
  template,
  writeInto,
  writeTemplate,
} from "./browser.ts";

const stage = browserStage();
const { it } = stage;
const fileEditor = (page: Page, key: string) => page.getByRole("textbox", { name: `File ${key}` });
const completions = (page: Page) => page.locator(".cm-tooltip-autocomplete .cm-completionLabel").allTextContents();

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10"><rect width="20" height="10"/></svg>';
describe("a file", () => {
  it("is edited if it is text, and a font says its family", async ({ page }) => {
    const font = await readFile(new URL("../../edge/static/playground/dejavu-sans-mono.ttf", import.meta.url));
    await addFiles(page, { "a.txt": "before", "font.bin": Uint8Array.of(0, 1), "mono.ttf": font });
    await page.getByText("Font family: DejaVu Sans Mono").waitFor();
    await expectAccessible(page);
    await openFile(page, "font.bin");
    await page.getByText("This file is not text").waitFor();
    await openFile(page, "a.txt");
    await page.keyboard.type("not ");
    await renderTemplate(page, '#read("a.txt")');
    await expect.poll(() => page.locator(".textLayer").first().textContent()).toContain("not before");
  });

  it("keeps its tab when it is renamed, and loses it when it is removed", async ({ page }) => {
    await tab(page, "Files").click();
    await page.getByRole("button", { name: "New file" }).click();
    await fileEditor(page, "new.typ").click();
    await page.keyboard.type("#let x = 1");
    await tab(page, "Files").click();
    await page.getByLabel("Path of file 1").fill("lib/x.typ");
    await tab(page, "lib/x.typ").click();
    expect(await fileEditor(page, "lib/x.typ").textContent()).toBe("#let x = 1");
    await page.keyboard.press("Delete");
    await expect.poll(() => page.getByRole("tab").count()).toBe(3);
    await openFile(page, "lib/x.typ");
    await tab(page, "Files").click();
    await page.getByRole("button", { name: "Remove lib/x.typ" }).click();
    await expect.poll(() => page.getByRole("tab").count()).toBe(3);
  });
});

describe("an editor", () => {
  it("is coloured by Typst's parser, also where somebody types", async ({ page }) => {
    const strong = template(page).locator("span", { hasText: "*typed*" });
    await expect.poll(() => template(page).locator("span", { hasText: "Hello, " }).count()).toBeGreaterThan(0);
    await template(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("*typed*");
    await expect.poll(() => strong.last().evaluate((part) => getComputedStyle(part).fontWeight)).toBe("700");
    const heading = (name: string) => fileEditor(page, name).locator("span", { hasText: "= Heading" });
    const atLimit = `= Heading\n${"//\n".repeat(66_663)}/`;
    await addFiles(page, { "a.typ": atLimit, "long.typ": `${atLimit}/` });
    await openFile(page, "a.typ");
    await expect.poll(() => heading("a.typ").count()).toBe(1);
    // Its colours would have come before those of the file that is opened after it.
    await openFile(page, "long.typ");
    await openFile(page, "a.typ");
    await expect.poll(() => heading("a.typ").count()).toBe(1);
    await openFile(page, "long.typ");
    expect(await heading("long.typ").count()).toBe(0);
  });

  it("can find, replace and go to a line", async ({ page }) => {
    await template(page).click();
    await page.keyboard.press("Control+f");
    await page.getByRole("textbox", { name: "Find" }).fill("items");
    await expect.poll(() => page.locator(".cm-searchMatch").count()).toBe(3);
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+g");
    await page.getByLabel("Go to line").fill("5");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".cm-activeLineGutter").first().textContent()).toBe("5");
    await page.keyboard.type("Here: ");
    expect(await template(page).textContent()).toContain("Here: ");
  });

  it("completes members of the data, of its elements in a loop, and names of files", async ({ page }) => {
    await addFiles(page, { "logo.svg": SVG });
    await tab(page, "Template").click();
    await template(page).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\n#data.");
    await expect.poll(() => completions(page)).toEqual(["items", "name"]);
    await page.keyboard.press("Escape");
    await page.keyboard.type("name\n#for entry in data.items [#entry.");
    await expect.poll(() => completions(page)).toEqual(["name", "price"]);
    await page.keyboard.press("Escape");
    await page.keyboard.type('name]\n#image("lo');
    await expect.poll(() => completions(page)).toEqual(["logo.svg"]);
  });

  it("accepts text typed over a selection without a violation of the page's policy", async ({ page }) => {
    await template(page).click();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("a *b* #let c = 1");
    expect(await template(page).textContent()).toBe("a *b* #let c = 1");
    await page.keyboard.press("Shift+Home");
    await page.keyboard.type("(");
    expect(await template(page).textContent()).toBe("(a *b* #let c = 1)");
    await page.keyboard.press("ControlOrMeta+z");
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.insertText("über");
    expect(await template(page).textContent()).toBe("über");
    // An input method: its events cannot be prevented.
    await page.keyboard.press("ControlOrMeta+a");
    const devTools = await page.context().newCDPSession(page);
    await devTools.send("Input.imeSetComposition", { text: "にほ", selectionStart: 2, selectionEnd: 2 });
    await devTools.send("Input.insertText", { text: "日本" });
    await expect.poll(() => template(page).textContent()).toBe("日本");
  });
});

describe("typing", () => {
  it("validates, encodes and stores no file that it does not change", async ({ page }) => {
    const files = Array.from({ length: 64 }, (_, index) => [`f${index}.csv`, "a,b\n".repeat(20_000)] as const);
    await addFiles(page, Object.fromEntries(files));
    await page.getByLabel("Path of file 64").waitFor();
    await page.getByText("Draft kept").waitFor();
    await tab(page, "Template").click();
    // Code that handles the files would use text or bytes of their size.
    await page.evaluate(() => {
      // The compiler, which gets all files after a longer pause, is left out, as for people who save data.
      Reflect.set(window, "matchMedia", () => ({ matches: true }));
      const large: string[] = [];
      Reflect.set(window, "large", large);
      const encode = TextEncoder.prototype.encode;
      TextEncoder.prototype.encode = function (text) {
        if ((text ?? "").length > 50_000) large.push("encode");
        return encode.call(this, text);
      };
      const put = IDBObjectStore.prototype.put;
      IDBObjectStore.prototype.put = function (...values) {
        if (this.name === "contents") large.push("put");
        return put.apply(this, values);
      };
    });
    await template(page).click();
    await page.keyboard.type("Some words.");
    await page.getByText("Saving…").waitFor({ state: "detached" });
    await expect.poll(() => page.locator("#validation").textContent()).toBe("Valid request");
    await page.getByText("Draft kept").waitFor();
    expect(await page.evaluate("large")).toEqual([]);
  });
});

describe("the page's compiler", () => {
  it("names a mistake in the editor before anything is sent, and no more once it is mended", async ({ page }) => {
    const loaded: string[] = [];
    const sent: string[] = [];
    page.on("request", (request) => {
      loaded.push(new URL(request.url()).pathname);
      if (request.method() === "POST") sent.push(request.url());
    });
    await page.reload();
    await page.getByRole("button", { name: "Render", exact: true }).waitFor();
    expect(loaded).not.toContain("/playground/typst-compiler.bin");
    await writeTemplate(page, "= Prices\n#tabel(columns: 2)");
    const message = page.locator("#source-message");
    await expect.poll(() => message.textContent()).toContain("Line 2: Unknown variable: tabel. Did you mean table?");
    const state = page.locator("#validation");
    await expect.poll(() => state.textContent()).toBe("1 mistake, line 2");
    expect(await state.getAttribute("data-state")).toBe("invalid");
    await tab(page, "Files").click();
    await state.getByRole("button", { name: "1 mistake, line 2" }).click();
    await expect.poll(() => page.locator(".cm-activeLineGutter").first().textContent()).toBe("2");
    expect(sent).toEqual([]);
    await expectAccessible(page);
    await writeTemplate(page, "= Prices\n#table(columns: 2)[a][b]\n$x^2$");
    await expect.poll(() => message.textContent()).toBe("");
  });

  it("names beside a 422 what the service does not say, and leads to its place", async ({ page }) => {
    await renderTemplate(page, '= Prices\n\n#image("logo.png")');
    const problem = page.locator(".problem");
    await expect.poll(() => problem.textContent()).toContain("Line 3: The project has no file “logo.png”.");
    expect(await problem.getAttribute("data-code")).toBe("template_compile_failed");
    expect(await problem.locator("li").count()).toBe(1);
    // Who knows the line needs no shell.
    expect(await problem.locator(".command").count()).toBe(0);
    await problem.getByRole("button", { name: "Template" }).click();
    await page.keyboard.type("@");
    await expect.poll(() => page.locator("#source-message").textContent()).not.toBe("");
    expect(await template(page).textContent()).toContain('#image(@"logo.png")');
  });

  it("takes its hints back when the service has rendered the draft", async ({ page }) => {
    // The page's Typst is one patch older than that of the service.
    await writeTemplate(page, "#assert(sys.version >= version(0, 15, 1))\n= Prices");
    const message = page.locator("#source-message");
    await expect.poll(() => message.textContent()).toContain("Line 1: Assertion failed.");
    await render(page);
    await expect.poll(() => summary(page)).toContain("1 page");
    await expect.poll(() => message.textContent()).toBe("");
  });
});

const writeData = (page: Page, text: string) => writeInto(page, "Data (JSON)", text);

async function addSchema(page: Page, schema: string): Promise<void> {
  await addFiles(page, { "data.schema.json": schema });
  await page.getByLabel("Path of file 1").waitFor();
}

/** The playground with a schema among the files of the draft. `renders` are the bodies that it sends. */
async function openWithSchema(schema: string) {
  const page = await stage.open();
  const renders: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/v1/render")) renders.push(request.postData() ?? "");
  });
  await writeTemplate(page, "Hello");
  await addSchema(page, schema);
  return { page, renders };
}

describe("data with a schema", () => {
  it("waits on a slow line until the validator is loaded, and so does a render", async () => {
    const page = await openPage(stage.browser, "about:blank");
    const arrived = Promise.withResolvers<void>();
    const requested: string[] = [];
    await page.route("**/playground/schema-worker.js", async (route) => {
      requested.push(route.request().url());
      await arrived.promise;
      await route.fallback();
    });
    await page.clock.install();
    await page.goto(stage.address());
    await addSchema(page, "{}");
    await writeData(page, '{"name": "x", "items": []}');
    await render(page);
    await page.getByRole("button", { name: "Cancel" }).waitFor();
    await page.clock.fastForward(60_000);
    expect(await page.locator("#validation").textContent()).toBe("Valid request");
    arrived.resolve();
    await expect.poll(() => summary(page)).toContain("1 page");
    expect(requested.length).toBe(1);
  });

  it("reports mistakes before anything is sent, goes to their lines, and is sent alone once it fits", async () => {
    const { page, renders } = await openWithSchema('{\n  "type": "text"\n}');
    await render(page);
    const found = page.locator(".problem li");
    const inSchema = [expect.stringContaining("Line 2, column 11: type: must be")];
    await expect.poll(() => found.allTextContents()).toEqual(inSchema);
    await addSchema(page, SCHEMA_OF_MISTAKES);
    const mistakes = DATA_MISTAKES.slice(0, 5);
    const { text } = dataWith(mistakes);
    await writeData(page, text);
    await render(page);
    const told = mistakes.map((mistake) => `${memberOf(mistake)}${mistake.path}: ${mistake.message}.`);
    await expect.poll(() => found.allTextContents()).toEqual(told.map((message) => expect.stringContaining(message)));
    const lines = [...told.slice(0, 3), "And 2 more."];
    expect(await page.locator("#data-message p").allTextContents()).toEqual(lines);
    await found.last().getByRole("button").click();
    const lastLine = text.split("\n").findIndex((line) => line.includes(`"${told.at(-1)?.match(/^m\d+/)?.[0]}"`)) + 1;
    await expect.poll(() => page.locator("#data-editor .cm-activeLineGutter").textContent()).toBe(`${lastLine}`);
    expect(renders).toEqual([]);
    await addSchema(page, '{"required": ["name"]}');
    await writeData(page, '{"name": "Ada"}');
    await render(page);
    await expect.poll(() => summary(page)).toContain("1 page");
    expect(renders.map((body) => Object.keys(JSON.parse(body)))).toEqual([["source", "data", "output"]]);
  });

  it("stays usable while a schema runs forever, and reports that", async () => {
    const { page, renders } = await openWithSchema('{"pattern": "^(a+)+$"}');
    await writeData(page, `"${"a".repeat(60)}!"`);
    await render(page);
    await expect.poll(() => page.locator(".problem").textContent()).toContain("took too long for the data");
    expect(renders).toEqual([]);
    await writeData(page, '"aaa"');
    await render(page);
    await expect.poll(() => summary(page)).toContain("1 page");
  });
});
