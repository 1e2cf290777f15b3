/** What PDF/UA-1 demands. Typst checks it only at export, so here show rules above the template do. */

import {
  type Compilation,
  type CompilerProject,
  type FileDiagnostic,
  type FileRange,
  offsetsOf,
  textOf,
} from "./project-text.ts";
import { findStoppedElements, STOP } from "./stopped-elements.ts";

/** Typst's own words of export are "skipped from heading level 1 to 3" and "PDF artifacts may not contain links". */
const STRUCTURE = `#show heading: it => {
  let before = query(selector(heading).before(it.location(), inclusive: false))
  assert(it.level <= if before == () { 1 } else { before.last().level + 1 }, message: "heading ${STOP}")
  it
}
#show pdf.artifact: it => { show link: it => assert(false, message: "link ${STOP}"); it }
#show link: it => context {
  let y = here().position().y
  let side(name) = {
    let margin = if type(page.margin) == dictionary { page.margin.at(name, default: auto) } else { page.margin }
    if margin == auto { return calc.min(page.width, page.height) * 2.5 / 21 }
    let relative = margin + 0% + 0pt
    relative.length.to-absolute() + relative.ratio * page.height
  }
  let grows = page.height == auto or page.width == auto
  assert(grows or (y >= side("top") and y <= page.height - side("bottom")), message: "link in a margin ${STOP}")
  it
}
`;

/** A figure's alternative text speaks for what is in it; artifacts and hidden content are not read out. */
const HIDE = "{ show image: none; show math.equation: none; it }";
const SHOW_ALT = `it => { assert(it.alt not in (none, ""), message: "${STOP}"); it }`;
const ALTERNATIVE_TEXTS = [
  `#show figure: it => if it.alt in (none, "") { it } else ${HIDE}`,
  `#show pdf.artifact: it => ${HIDE}`,
  `#show hide: it => ${HIDE}`,
  `#show image: ${SHOW_ALT}`,
  `#show math.equation: ${SHOW_ALT}`,
  "",
].join("\n");

export function accessibilityFindings(
  project: CompilerProject,
  { title }: Compilation,
  compile: (rules: string) => Compilation,
): readonly FileDiagnostic[] {
  return [
    ...(title.trim() === "" ? [{ ...START, message: NO_TITLE }] : []),
    ...findStoppedElements(compile(ALTERNATIVE_TEXTS))
      .filter((place) => !mayBeUnread(project, place))
      .map(({ stopped: _, ...place }) => ({ ...place, message: NO_ALT })),
    ...findStoppedElements(compile(STRUCTURE))
      .filter(({ stopped, ...place }) => !stopped.startsWith("link in a margin") || isMarginal(project, place))
      .map(({ stopped, ...place }) => ({ ...place, message: stopped.startsWith("link") ? LINK : HEADING_LEVEL })),
  ];
}

const START: FileRange = { key: null, from: { line: 0, column: 0 }, to: { line: 0, column: 0 } };
const NO_TITLE = 'PDF/UA-1 requires a title: #set document(title: "…").';
const NO_ALT = 'PDF/UA-1 requires an alternative text: alt: "…" says what it shows.';

const HEADING_LEVEL = "PDF/UA-1 requires that the outline begins with level 1, and skips none.";
const LINK = "PDF/UA-1 forbids links in headers, footers and other artifacts: put the address there as text.";

const MARGINAL = /\b(?:header|footer|background|foreground)\s*:/;

/** Content that is measured or hidden is not in the document, and artifacts are not read out. */
const UNREAD = /\b(?:measure|hide|artifact)[([]/;

/** Whether an element may be in a margin or background, which are not read out: guessed from the text. */
function mayBeUnread(project: CompilerProject, place: FileRange): boolean {
  const text = textOf(project, place.key);
  return UNREAD.test(statementBefore(text, offsetsOf(text, place).from)) || isMarginal(project, place);
}

function isMarginal(project: CompilerProject, place: FileRange): boolean {
  const text = textOf(project, place.key);
  const statement = statementBefore(text, offsetsOf(text, place).from);
  const keys = [null, ...project.files.map(({ key }) => key).filter((key) => key.endsWith(".typ"))];
  if (!keys.some((key) => MARGINAL.test(textOf(project, key)))) return false;
  return MARGINAL.test(statement) || /\blet\b/.test(statement);
}

function statementBefore(text: string, offset: number): string {
  let start = offset;
  let closed = 0;
  for (let at = offset - 1; at >= 0; at--) {
    const character = text.charAt(at);
    if (")]}".includes(character)) closed++;
    else if ("([{".includes(character)) {
      if (closed === 0) start = at;
      else closed--;
    }
  }
  return text.slice(text.lastIndexOf("\n", start - 1) + 1, offset);
}
