/** What the playground keeps: drafts over reloads, tabs and archives, in a real browser. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { strToU8, unzipSync, zipSync } from "fflate";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { makeTemporaryFolder } from "../support/temporary-folder.ts";
import { expectAccessible } from "./accessibility.ts";
import {
  addFiles,
  browserStage,
  chooseExample,
  downloadBy,
  drawnPage,
  openFile,
  openPageIn,
  render,
  tab,
  template,
  writeTemplate,
} from "./browser.ts";

const stage = browserStage();
const { it } = stage;
const templateText = async (page: Page) => ((await template(page).textContent()) ?? "").trim();
const notice = (page: Page) => page.locator("#notice").textContent();
const kept = (page: Page) => page.getByText("Draft kept").waitFor();
const openList = (page: Page) => page.getByRole("button", { name: "Drafts…" }).click();

const fileKeys = (page: Page) =>
  page.getByLabel(/^Path of file/).evaluateAll((inputs: HTMLInputElement[]) => inputs.map(({ value }) => value));

/** A draft with a file that is not text and an option. */
async function writeDraft(page: Page): Promise<void> {
  await writeTemplate(page, "Mine");
  await addFiles(page, { "photo.bin": Uint8Array.of(0xff, 0, 1) });
  await page.getByLabel("Path of file 1").waitFor();
  await page.getByLabel("Pages").fill("2");
}

async function expectDraft(page: Page): Promise<void> {
  await tab(page, "Template").click();
  await expect.poll(() => templateText(page)).toBe("Mine");
  expect(await page.getByLabel("Pages").inputValue()).toBe("2");
  await tab(page, "Files").click();
  expect(await page.getByLabel("Path of file 1").inputValue()).toBe("photo.bin");
  expect(await page.locator("#files-list li").first().textContent()).toContain("binary");
  expect(await page.locator("#files-list .file-size").first().textContent()).toBe("3 bytes");
  await tab(page, "Template").click();
}

describe("a draft", () => {
  it("survives a reload right after the last key in one of its files, and the end of its tab", async ({ page }) => {
    await writeDraft(page);
    await addFiles(page, { "table.csv": "a" });
    await openFile(page, "table.csv");
    await page.getByRole("textbox", { name: "File table.csv" }).click();
    await page.keyboard.type("bcd");
    await page.reload();
    await expectDraft(page);
    await tab(page, "Files").click();
    expect(await page.locator("#files-list .file-size").allTextContents()).toEqual(["3 bytes", "4 bytes"]);
    await page.close();
    await expectDraft(await openPageIn(page.context(), stage.address()));
  });

  it("that the browser has no room for is said not to be kept, and the page asks before it is closed", async ({
    page,
  }) => {
    await page.evaluate(() => {
      IDBTransaction.prototype.commit = function () {
        this.abort();
      };
    });
    await writeTemplate(page, "The last word");
    await page.getByText("no room left for this draft").waitFor();
    await expectAccessible(page);
    const asked = page.waitForEvent("dialog");
    const closed = page.close({ runBeforeUnload: true });
    const dialog = await asked;
    expect(dialog.type()).toBe("beforeunload");
    await dialog.dismiss();
    await closed;
    expect(await templateText(page)).toBe("The last word");
  });

  it("is a copy in a second tab, where nobody overwrites or deletes the work of the first", async () => {
    const first = await stage.open();
    await writeTemplate(first, "First");
    await kept(first);
    const second = await openPageIn(first.context(), stage.address());
    await expect.poll(() => templateText(second)).toBe("First");
    expect(await notice(second)).toContain("open in another tab");
    await writeTemplate(second, "Second");
    await kept(second);
    await first.reload();
    await second.reload();
    await expect.poll(() => templateText(first)).toBe("First");
    await expect.poll(() => templateText(second)).toBe("Second");
    await openList(second);
    await expect
      .poll(() => second.locator("#drafts-list li").allTextContents())
      .toEqual([
        expect.stringMatching(/^Second.*Open in this tab$/),
        expect.stringMatching(/^First(?!.*Delete).*Open in another tab$/),
      ]);
    await expectAccessible(second);
    await first.close();
    // The browser frees the draft a moment later.
    const reopen = async () => {
      await second.getByRole("button", { name: "Close", exact: true }).click();
      await openList(second);
      await second.getByRole("dialog").waitFor();
      return second.getByRole("button", { name: "Delete First" }).count();
    };
    await expect.poll(reopen).toBe(1);
    await second.getByRole("button", { name: "Delete First" }).click();
    await expect.poll(() => second.getByRole("button", { name: "First", exact: true }).count()).toBe(0);
  });

  it("can be read in the list by the keyboard, also where nothing can be done with it and there is little room", async () => {
    const page = await stage.open({ viewport: { width: 320, height: 256 } });
    await writeTemplate(page, `= ${"A title of many words ".repeat(12)}`);
    await kept(page);
    await openList(page);
    await page.locator("#drafts-list li").waitFor();
    await expectAccessible(page);
  });

  it("comes back with its files when the example that replaced it is undone, or from the list", async ({ page }) => {
    await writeDraft(page);
    await chooseExample(page, "Invoice");
    await expect.poll(() => notice(page)).toContain("Example loaded: Invoice");
    expect(await templateText(page)).toContain("An invoice");
    await page.getByRole("button", { name: "Undo" }).click();
    await expectDraft(page);
    await chooseExample(page, "Invoice");
    await expect.poll(() => templateText(page)).toContain("An invoice");
    await kept(page);
    await page.reload();
    await expect.poll(() => templateText(page)).toContain("An invoice");
    await openList(page);
    await page.getByRole("button", { name: "Mine", exact: true }).click();
    await expectDraft(page);
    await openList(page);
    await page.getByRole("button", { name: /^Delete / }).click();
    await expect.poll(() => page.locator("#drafts-list li").count()).toBe(1);
  });

  it("is restored by an undo that keeps the edits of other files since", async ({ page }) => {
    await addFiles(page, { "a.csv": "a", "b.csv": "b" });
    await page.getByRole("button", { name: "Remove a.csv" }).click();
    await page.getByLabel("Path of file 1").fill("c.csv");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => fileKeys(page)).toEqual(["a.csv", "c.csv"]);
    await addFiles(page, { "d.csv": "d", "a.csv": "new" });
    await expect.poll(() => fileKeys(page)).toEqual(["c.csv", "d.csv", "a.csv"]);
    await page.getByLabel("Path of file 1").fill("e.csv");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => fileKeys(page)).toEqual(["a.csv", "e.csv"]);
  });

  it("has the content of a file that comes back while its removal is being saved", async ({ page }) => {
    await addFiles(page, { "a.csv": "abc" });
    await kept(page);
    await page.evaluate(() => {
      // Each of these events saves at once, and no save ends before this function.
      for (const button of ["[aria-label='Remove a.csv']", "#files-notice button"]) {
        document.querySelector<HTMLElement>(button)?.click();
        dispatchEvent(new Event("visibilitychange"));
      }
    });
    await kept(page);
    await page.reload();
    await tab(page, "Files").click();
    expect(await page.locator("#files-list .file-size").allTextContents()).toEqual(["3 bytes"]);
  });

  it("stays among the drafts when it is edited and the draft that it replaced is brought back", async ({ page }) => {
    await chooseExample(page, "Invoice");
    await expect.poll(() => notice(page)).toContain("Example loaded: Invoice");
    await writeTemplate(page, "Edited example");
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => templateText(page)).toContain("Hello");
    await openList(page);
    await page.getByRole("button", { name: "Edited example", exact: true }).waitFor();
  });

  it.each(["refuses it", "never answers"])("is reported as not kept if the browser %s", async (how) => {
    const page = await stage.open();
    await page.addInitScript((isRefused) => {
      if (!isRefused) IDBRequest.prototype.addEventListener = () => {};
      else {
        IDBFactory.prototype.open = () => {
          throw new DOMException("No.", "SecurityError");
        };
      }
    }, how === "refuses it");
    await page.reload();
    await page.getByText("This browser keeps no drafts for this page").waitFor();
    await chooseExample(page, "Certificate");
    await expect.poll(() => templateText(page)).toContain("certificate");
  });
});

describe("an archive", () => {
  it("opens as the draft from which it was saved", async ({ page }) => {
    await writeDraft(page);
    const archive = await savedArchive(page);
    await writeTemplate(page, "Other");
    await openArchive(page, archive);
    await expectDraft(page);
    await page.getByRole("button", { name: "Undo" }).click();
    await expect.poll(() => templateText(page)).toBe("Other");
  });

  it("of a package is added under its name, without what documents do not need, and the document imports it", async ({
    page,
  }) => {
    await writeTemplate(page, '#import "@local/greeting:1.0.0": hello\n#hello');
    const manifest = '[package]\nname = "greeting"\nversion = "1.0.0"\nentrypoint = "src/lib.typ"\n';
    const docs = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`greeting-main/docs/${index}.png`, strToU8("x")]),
    );
    const needed = {
      "greeting-main/typst.toml": strToU8(manifest),
      "greeting-main/src/lib.typ": strToU8("#let hello = [Hi]"),
    };
    await openArchive(page, zipSync({ ...docs, ...needed }));
    await page.getByText("@local/greeting:1.0.0 added: 2 files.").waitFor();
    await render(page);
    await drawnPage(page).waitFor();
  });

  it("keeps the line ends of its files, and mistakes in its data are marked at the right place", async ({ page }) => {
    await openArchive(
      page,
      zipSync({
        "main.typ": strToU8("One\r\nTwo"),
        "data.json": strToU8('{\r\n"a": 1,\r\n"b": oops\r\n}'),
        "table.csv": strToU8("a\r\nb\r\n"),
      }),
    );
    await expect.poll(() => templateText(page)).toBe("OneTwo");
    await tab(page, "Data").click();
    await expect.poll(() => page.locator("#data-editor .cm-lintRange").textContent()).toBe("o");
    await openFile(page, "table.csv");
    await page.getByRole("textbox", { name: "File table.csv" }).click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("c\nd");
    const entries = unzipSync(await savedArchive(page));
    expect(Buffer.from(entries["table.csv"] ?? "").toString()).toBe("a\r\nb\r\nc\r\nd");
  });
});

describe("a folder", () => {
  it("with a template and data is a project", async ({ page }) => {
    const folder = await makeTemporaryFolder("project-");
    await writeFile(join(folder, "main.typ"), "= Project #data.a");
    await writeFile(join(folder, "data.json"), '\ufeff{"a": 2}');
    await writeFile(join(folder, "table.csv"), "a,b");
    await tab(page, "Files").click();
    await page.locator("#folder-input").setInputFiles(folder);
    await expect.poll(() => templateText(page)).toBe("= Project #data.a");
    await tab(page, "Files").click();
    expect(await page.getByLabel(/^Path of file/).count()).toBe(1);
    await tab(page, "Data").click();
    expect(await page.getByRole("textbox", { name: "Data (JSON)" }).textContent()).toBe('{"a": 2}');
  });
});

async function savedArchive(page: Page): Promise<Buffer> {
  return (await downloadBy(page, () => page.getByRole("button", { name: "Save ZIP" }).click())).content;
}

async function openArchive(page: Page, archive: Uint8Array): Promise<void> {
  const buffer = Buffer.from(archive);
  await page.locator("#archive-input").setInputFiles({ name: "draft.zip", mimeType: "application/zip", buffer });
}
