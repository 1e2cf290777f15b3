/**
 * Citations of the pages in code and tests, such as docs/api.md#limits: page and heading exist. Links between the pages
 * themselves are checked by `npm run check:links`. Also what CONTRIBUTING.md says of `.ci/run`, which nothing else
 * checks.
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
  const folders = "rules protocol typst clients edge server backend scripts test bench deploy".split(" ");
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

it("CONTRIBUTING.md says which suites `.ci/run` leaves out, and it runs all the others", () => {
  const page = readFileSync(`${PROJECT}CONTRIBUTING.md`, "utf8");
  const [before = "", after = ""] = page.split("`.ci/run` is what a change must pass: all of the above but ");
  const leftOut = [...(after.split(".")[0] ?? "").matchAll(/`([\w:]+)`/g)].map(([, name]) => `npm run ${name}`);
  expect(leftOut.length).toBeGreaterThan(0);
  const suites = [...before.matchAll(/^(?:- )?`(npm run test:\w+)`/gm)].map(([, command]) => command);
  expect(suites).toEqual(expect.arrayContaining(leftOut));
  const above = [...before.matchAll(/^npm (?:test|run check)\b(?! --)/gm)].map(([command]) => command);
  const script = readFileSync(`${PROJECT}.ci/run`, "utf8");
  const run = [...script.matchAll(/^npm (?:test|run [\w:]+)/gm)].map(([command]) => command);
  const expected = [...above, ...suites.filter((suite) => !leftOut.includes(String(suite)))];
  expect(run.toSorted()).toEqual(expected.toSorted());
});
