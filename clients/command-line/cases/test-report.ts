/** Reports a run of the cases: one HTML file with its pictures for people, and JUnit XML for programs. */
import { dirname, join } from "node:path";
import { countInWords } from "../../document/size-in-words.ts";
import { CASES_FOLDER } from "./case-files.ts";
import type { PageDifference } from "./compare-pages.ts";

export interface CaseResult {
  readonly template: string;
  readonly name: string;
  readonly failure: string | null;
  readonly differences: readonly PageDifference[];
  readonly pages: number;
  readonly seconds: number;
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; color: light-dark(#1b1f24, #e6e8eb); background: light-dark(#fff, #16191d) }
h2 { margin: 2.5rem 0 0.5rem }
.passed { color: light-dark(#1a6b34, #7ccf95) } .failed { color: light-dark(#b3261e, #ff9b92) }
pre { white-space: pre-wrap; background: light-dark(#f4f5f7, #22262c); padding: 1rem }
.pages { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 1rem }
figure { margin: 0 } img { width: 100%; border: 1px solid #c8ccd2; background: #fff }
`;

export function htmlReport(results: readonly CaseResult[]): string {
  const failed = results.filter(({ failure }) => failure !== null);
  const title = `${failed.length} of ${results.length} cases failed`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<style>${STYLE}</style>
<h1>${title}</h1>
<ul>
${results.map((result) => listCase(result, failed.indexOf(result))).join("\n")}
</ul>
${failed.map(htmlOfCase).join("\n")}
</html>
`;
}

/** @param place among those that failed; -1 for a case that passed */
function listCase({ template, name, pages }: CaseResult, place: number): string {
  const shown = escapeMarkup(`${template}: ${name}`);
  if (place >= 0) return `<li><a class="failed" href="#case-${place}">${shown}</a></li>`;
  return `<li class="passed">${shown} (${countInWords(pages, "page")})</li>`;
}

function htmlOfCase({ template, name, failure, differences }: CaseResult, place: number): string {
  const pages = differences.map(
    ({ page, message, before, after, difference }) => `<h3>${escapeMarkup(message)}</h3>
<div class="pages">${drawPicture("Before", page, before)}${drawPicture("After", page, after)}${drawPicture("Difference", page, difference)}</div>`,
  );
  const reason = pages.length > 0 ? "" : `<pre>${escapeMarkup(failure ?? "")}</pre>`;
  const path = join(dirname(template), CASES_FOLDER, `${name}.json`);
  return `<h2 class="failed" id="case-${place}">${escapeMarkup(`${template}: ${name}`)}</h2>\n<p><code>${escapeMarkup(path)}</code></p>\n${reason}${pages.join("\n")}`;
}

function drawPicture(caption: string, page: number, png: Buffer | null): string {
  const image =
    png === null
      ? "<p>none</p>"
      : `<img alt="${caption}: page ${page}" src="data:image/png;base64,${png.toString("base64")}">`;
  return `<figure><figcaption>${caption}</figcaption>${image}</figure>`;
}

export function junitReport(results: readonly CaseResult[]): string {
  const failed = results.filter(({ failure }) => failure !== null).length;
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0).toFixed(3);
  const cases = results.map(({ template, name, failure, seconds: own }) => {
    const body =
      failure === null
        ? "/>"
        : `>\n      <failure message="${escapeMarkup(failure.split("\n")[0] ?? "")}">${escapeMarkup(failure)}</failure>\n    </testcase>`;
    return `    <testcase classname="${escapeMarkup(template)}" name="${escapeMarkup(name)}" time="${own.toFixed(3)}"${body}`;
  });
  const counts = `tests="${results.length}" failures="${failed}" errors="0" time="${seconds}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${counts}>
  <testsuite name="document-rendering test" ${counts}>
${cases.join("\n")}
  </testsuite>
</testsuites>
`;
}

/** Text for HTML and XML, without characters that XML forbids. */
function escapeMarkup(text: string): string {
  return text
    .replace(/[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
