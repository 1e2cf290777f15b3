/** What PDF/UA-1 demands. Typst checks it only at export, so here show rules above the template do. */
import {
  type Compilation,
  type CompilerProject,
  type FileDiagnostic,
  type FileRange,
  offsetsOf,
  rangeOf,
  textOf,
} from "./project-text.ts";

const STOP = "~stopped here";

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
      .map((place) => ({ ...place, message: NO_ALT })),
  ];
}

const START: FileRange = { key: null, from: { line: 0, column: 0 }, to: { line: 0, column: 0 } };
const NO_TITLE = 'PDF/UA-1 requires a title: #set document(title: "…").';
const NO_ALT = 'PDF/UA-1 requires an alternative text: alt: "…" says what is to be seen.';

/** Where a rule has stopped: the hint after the error has the place, because the error itself is in the rule. */
function findStoppedElements({ diagnostics, linesAbove }: Compilation): FileRange[] {
  return diagnostics.flatMap(({ severity, message }, index) => {
    const shown = diagnostics[index + 1];
    if (severity !== "error" || !message.endsWith(STOP) || shown === undefined) return [];
    const place = rangeOf(shown, linesAbove);
    return place === null ? [] : [place];
  });
}

const MARGINAL = /\b(?:header|footer|background|foreground)\s*:/;

/** Content that is measured or hidden is not in the document, and artifacts are not read out. */
const UNREAD = /\b(?:measure|hide|artifact)[([]/;

/** Whether an element may be in a margin or background, which are not read out: guessed from the text. */
function mayBeUnread(project: CompilerProject, place: FileRange): boolean {
  const text = textOf(project, place.key);
  const statement = statementBefore(text, offsetsOf(text, place).from);
  if (UNREAD.test(statement)) return true;
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
