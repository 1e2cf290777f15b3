/**
 * Data and its schema in the playground: the same mistakes and messages as in the command line, before anything is
 * sent.
 */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { DATA_MISTAKES, dataWith, memberOf, SCHEMA_OF_MISTAKES } from "../support/clients/data-mistakes.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { browserStage, keepPicture, openPage } from "./browser.ts";

const stage = browserStage();

/** The playground with a schema among the files of the draft. `renders` are the bodies that it sends. */
async function openWithSchema(schema: string) {
  const page = await openPage(stage.browser, new URL(`/#token=${API_TOKEN}`, stage.service.edge.url));
  const renders: string[] = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/v1/render")) renders.push(request.postData() ?? "");
  });
  await write(page, "Template (Typst)", "Hello");
  await page.getByRole("tab", { name: /^Files/ }).click();
  await page
    .locator("#files-input")
    .setInputFiles({ name: "data.schema.json", mimeType: "application/json", buffer: Buffer.from(schema) });
  await page.getByLabel("Path of file 1").waitFor();
  await page.getByRole("tab", { name: /^Data/ }).click();
  return { page, renders };
}

async function write(page: Page, label: "Template (Typst)" | "Data (JSON)", text: string): Promise<void> {
  await page.getByRole("tab", { name: label === "Data (JSON)" ? /^Data/ : /^Template/ }).click();
  await page.getByRole("textbox", { name: label }).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

const render = (page: Page) => page.getByRole("button", { name: "Render" }).click();

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
  await page.goto(new URL(`/#token=${API_TOKEN}`, stage.service.edge.url).toString());
  await page.getByRole("tab", { name: /^Files/ }).click();
  const schema = { name: "data.schema.json", mimeType: "application/json", buffer: Buffer.from("{}") };
  await page.locator("#files-input").setInputFiles(schema);
  await page.getByLabel("Path of file 1").waitFor();
  await write(page, "Data (JSON)", '{"name": "x", "items": []}');
  await render(page);
  await page.getByRole("button", { name: "Cancel" }).waitFor();
  await page.clock.fastForward(60_000);
  expect(await page.locator("#validation").textContent()).toBe("Valid request");
  arrived.resolve();
  await expect.poll(() => page.locator("#result-summary").textContent()).toContain("1 page");
  expect(requested.length).toBe(1);
});

it("reports every mistake with its path before anything is sent, and goes to its line", async () => {
  const { page, renders } = await openWithSchema(SCHEMA_OF_MISTAKES);
  for (const mistakes of [DATA_MISTAKES.slice(0, 20), DATA_MISTAKES.slice(20)]) {
    const { text } = dataWith(mistakes);
    await write(page, "Data (JSON)", text);
    await render(page);
    const found = page.locator(".problem li");
    const told = mistakes.map((mistake) => `${memberOf(mistake)}${mistake.path}: ${mistake.message}.`);
    await expect.poll(() => found.allTextContents()).toEqual(told.map((message) => expect.stringContaining(message)));
    expect(await page.locator("#data-message p").allTextContents()).toEqual([
      ...told.slice(0, 3),
      `And ${told.length - 3} more.`,
    ]);
    const lastMember = told.at(-1)?.match(/^m\d+/)?.[0];
    // The last one: the cursor is in its line.
    await found.last().getByRole("button").click();
    const line = text.split("\n").findIndex((each) => each.includes(`"${lastMember}"`)) + 1;
    await expect.poll(() => page.locator("#data-editor .cm-activeLineGutter").textContent()).toBe(`${line}`);
  }
  await keepPicture(page, "data-schema");
  expect(renders).toEqual([]);
});

it("renders data that fits, and does not send the schema", async () => {
  const { page, renders } = await openWithSchema('{"required": ["name"]}');
  await write(page, "Data (JSON)", '{"name": "Ada"}');
  await render(page);
  await expect.poll(() => page.locator("#result-summary").textContent()).toContain("1 page");
  expect(renders.map((body) => Object.keys(JSON.parse(body)))).toEqual([["source", "data", "output"]]);
});

it("reports the place of a mistake in the schema", async () => {
  const { page, renders } = await openWithSchema('{\n  "type": "text"\n}');
  await render(page);
  const found = page.locator(".problem li");
  await expect
    .poll(() => found.allTextContents())
    .toEqual([expect.stringContaining("Line 2, column 11: type: must be")]);
  expect(renders).toEqual([]);
});

it("stays usable while a schema runs forever, and reports that", async () => {
  const { page, renders } = await openWithSchema('{"pattern": "^(a+)+$"}');
  await write(page, "Data (JSON)", `"${"a".repeat(60)}!"`);
  await render(page);
  await expect.poll(() => page.locator(".problem").textContent()).toContain("took too long for the data");
  expect(renders).toEqual([]);
  await write(page, "Data (JSON)", '"aaa"');
  await render(page);
  await expect.poll(() => page.locator("#result-summary").textContent()).toContain("1 page");
});

it("completes the names and values of the schema", async () => {
  const schema = {
    properties: { currency: { enum: ["EUR", "USD"] }, total: { type: "string" } },
    required: ["currency"],
  };
  const { page } = await openWithSchema(JSON.stringify(schema));
  await write(page, "Data (JSON)", '{"total": "1", ');
  await page.keyboard.type('"c');
  const options = page.locator("#data-editor .cm-tooltip-autocomplete li");
  await expect.poll(() => options.allTextContents()).toEqual(['"currency"required']);
  // By mouse: for a moment after the list has come, the editor takes Enter for a new line.
  await options.first().click();
  await page.keyboard.type('"US');
  await expect.poll(() => options.allTextContents()).toEqual([expect.stringContaining('"USD"')]);
  // By mouse: for a moment after the list has come, the editor takes Enter for a new line.
  await options.first().click();
  await page.keyboard.type("}");
  await expect
    .poll(() => page.locator("#data-editor .cm-content").textContent())
    .toBe('{"total": "1", "currency": "USD"}');
});
