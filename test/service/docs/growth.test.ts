/** What docs/templates.md says that grows with the square, and what to write instead: how processor time grows, not how long it is. */
import { readFile } from "node:fs/promises";
import { execa } from "execa";
import { expect, it } from "vitest";
import { typstPath } from "../../support/backend/typst-path.ts";

const page = await readFile(new URL("../../../docs/templates.md", import.meta.url), "utf8");
const [, table = ""] = /<!-- growth -->\n(.*?)<!-- end of growth -->/s.exec(page) ?? [];
const rows = [...table.matchAll(/^\| ([^|]+) \| `(.*?)` \| .*? \| `(.*?)` \|/gm)].map(
  ([, what = "", slow = "", fast = ""]) => ({ what, slow, fast }),
);

async function processorSeconds(source: string): Promise<number> {
  const options = ["compile", "--jobs", "1", "--ignore-system-fonts", "-", "-"];
  const script = 'TIMEFORMAT="%3U %3S"; time "$@"';
  const { stderr } = await execa("bash", ["-c", script, "bash", typstPath(), ...options], {
    input: source,
    stdout: "ignore",
  });
  const [user = Number.NaN, system = Number.NaN] = (stderr.trim().split("\n").at(-1) ?? "").split(" ").map(Number);
  return user + system;
}

/** Of a few times more items, above what Typst takes without any. */
async function growth(source: string, items: number, times: number): Promise<number> {
  const withItems = (count: number) => source.replaceAll(/\bN\b/g, `${count}`);
  const none = await processorSeconds("");
  const few = (await processorSeconds(withItems(items))) - none;
  const many = (await processorSeconds(withItems(items * times))) - none;
  // Less than this cannot be told from nothing.
  return Math.log(many / Math.max(few, 0.01)) / Math.log(times);
}

it("has rows", () => expect(rows.length).toBeGreaterThan(4));

it.each(rows)("$what: the slow way grows with the square, the other one does not", async ({ what, slow, fast }) => {
  const items = what.includes("200") ? 100 : 1000;
  expect(await growth(slow, items, 3)).toBeGreaterThan(1.4);
  expect(await growth(fast, items, 3)).toBeLessThan(1.4);
});
