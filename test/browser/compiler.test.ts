/** Mistakes that the playground's own compiler names, in the editor and beside a 422. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { API_TOKEN } from "../support/tokens.ts";
import { expectAccessible } from "./accessibility.ts";
import { browserStage, keepPicture, openPage, writeInto } from "./browser.ts";

const stage = browserStage();
const TEMPLATE = "Template (Typst)";

function openPlayground(): Promise<Page> {
  return openPage(stage.browser, new URL(`/#token=${API_TOKEN}`, stage.service.edge.url));
}

it("names a mistake in the editor before anything is sent, and no more once it is mended", async () => {
  const page = await openPlayground();
  const loaded: string[] = [];
  const sent: string[] = [];
  page.on("request", (request) => {
    loaded.push(new URL(request.url()).pathname);
    if (request.method() === "POST") sent.push(request.url());
  });
  await page.reload();
  await page.getByRole("button", { name: "Render", exact: true }).waitFor();
  expect(loaded).not.toContain("/playground/typst-compiler.bin");
  await writeInto(page, TEMPLATE, "= Prices\n#tabel(columns: 2)");
  const message = page.locator("#source-message");
  await expect.poll(() => message.textContent()).toContain("Line 2: Unknown variable: tabel.");
  await expect.poll(() => page.locator("#validation").textContent()).toBe("Valid request, 1 hint");
  expect(sent).toEqual([]);
  await expectAccessible(page);
  await keepPicture(page, "mistake-in-editor");
  await writeInto(page, TEMPLATE, "= Prices\n#table(columns: 2)[a][b]\n$x^2$");
  await expect.poll(() => message.textContent()).toBe("");
});

it("names beside a 422 what the service does not say, and leads to its place", async () => {
  const page = await openPlayground();
  await writeInto(page, TEMPLATE, '= Prices\n\n#image("logo.png")');
  await page.getByRole("button", { name: "Render", exact: true }).click();
  const problem = page.locator(".problem");
  await expect.poll(() => problem.textContent()).toContain("Line 3: The project has no file “logo.png”.");
  expect(await problem.getAttribute("data-code")).toBe("template_compile_failed");
  await keepPicture(page, "mistake-beside-422");
  await problem.getByRole("button", { name: "Template" }).click();
  await page.keyboard.type("@");
  await expect.poll(() => page.locator("#source-message").textContent()).not.toBe("");
  expect(await page.getByRole("textbox", { name: TEMPLATE }).textContent()).toContain('#image(@"logo.png")');
});

it("takes its hints back when the service has rendered the draft", async () => {
  const page = await openPlayground();
  // The page's Typst is one patch older than that of the service.
  await writeInto(page, TEMPLATE, "#assert(sys.version >= version(0, 15, 1))\n= Prices");
  const message = page.locator("#source-message");
  await expect.poll(() => message.textContent()).toContain("Line 1: Assertion failed.");
  await page.getByRole("button", { name: "Render", exact: true }).click();
  await expect.poll(() => page.locator("#result-summary").textContent()).toContain("1 page");
  await expect.poll(() => message.textContent()).toBe("");
});
