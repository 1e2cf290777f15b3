/**
 * Citations of the pages in code and tests, such as docs/api.md#limits: page and heading exist. So do the files that
 * docs/architecture.md names. `npm run check:links` checks the links between the pages.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const CITATION = /\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g;

/** The anchors that GitHub makes of a page's headings; null if there is no such page. */
function anchorsOf(page: string): Set<string> | null {
  if (!existsSync(`${PROJECT}${page}`)) return null;
  const headings = readFileSync(`${PROJECT}${page}`, "utf8").match(/^#+ .*$/gm) ?? [];
  return new Set(
    headings.map((heading) => {
      const text = heading.replace(/^#+ /, "").toLowerCase();
      return text.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "").replaceAll(" ", "-");
    }),
  );
}

/** Each citation with the file that it is in. */
function citations(): { file: string; page: string; anchor: string | undefined }[] {
  const folders = "rules protocol typst clients edge backend scripts test bench deploy".split(" ");
  const files = folders.flatMap((folder) =>
    readdirSync(`${PROJECT}${folder}`, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  return files
    .filter((file) => /\.(?:ts|mjs|yml)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(`${PROJECT}${file}`, "utf8");
      return [...text.matchAll(CITATION)].map(([, page = "", anchor]) => ({ file, page, anchor }));
    });
}

it("every page and heading that code or a test cites is there", () => {
  const found = citations();
  expect(found.length).toBeGreaterThan(10);
  const broken = found.filter(({ page, anchor }) => {
    const anchors = anchorsOf(page);
    return anchors === null || (anchor !== undefined && !anchors.has(anchor));
  });
  expect(broken).toEqual([]);
});

it("every file that docs/architecture.md names is there", () => {
  const page = readFileSync(`${PROJECT}docs/architecture.md`, "utf8");
  const folders = "rules|protocol|typst|clients|edge|backend|scripts|test|deploy";
  const paths = [...page.matchAll(new RegExp(`\`((?:${folders})/[\\w./-]+\\.\\w+)\``, "g"))].map(
    ([, path = ""]) => path,
  );
  expect(paths.length).toBeGreaterThan(40);
  expect(paths.filter((path) => !existsSync(`${PROJECT}${path}`))).toEqual([]);
});
