/**
 * What PDF/UA-1 demands most often: a title and alternative texts. Typst checks that only at export, so here show rules above
 * the template do.
 */

import { calledName } from "../../../template/calls.ts";
import {
  nodesOf,
  parseTemplate,
  type SyntaxNode,
  type Template,
  textOf as textIn,
} from "../../../template/syntax-tree.ts";
import {
  type Compilation,
  type CompilerProject,
  type FileDiagnostic,
  type FileRange,
  offsetsOf,
  rangeOf,
  textOf,
} from "./project-text.ts";

/** The message of the rules, which stops the compilation at an element: so the page finds it by what Typst knows. */
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
const NO_ALT = 'PDF/UA-1 requires an alternative text: alt: "…" says what it shows.';

const MARGINAL: ReadonlySet<string> = new Set(["header", "footer", "background", "foreground"]);
/** Content that is measured or hidden is not in the document, and artifacts are not read out. */
const UNREAD: ReadonlySet<string> = new Set(["measure", "hide", "artifact"]);

/** Whether an element may be in one of these calls, in a margin, or in a definition, where a margin may use it. */
function mayBeUnread(project: CompilerProject, place: FileRange): boolean {
  const template = parseTemplate(textOf(project, place.key));
  const { from } = offsetsOf(template.text, place);
  const around = nodesOf(template, "FuncCall", "Named", "LetBinding").filter(
    ({ start, end }) => start <= from && from < end,
  );
  if (around.some((node) => node.kind === "FuncCall" && UNREAD.has(calledName(template, node)))) return true;
  if (around.some((node) => isMargin(template, node))) return true;
  if (!around.some(({ kind }) => kind === "LetBinding")) return false;
  const keys = [null, ...project.files.map(({ key }) => key).filter((key) => key.endsWith(".typ"))];
  const templates = keys.map((key) => parseTemplate(textOf(project, key)));
  return templates.some((each) => nodesOf(each, "Named").some((node) => isMargin(each, node)));
}

function isMargin(template: Template, { kind, children: [name] }: SyntaxNode): boolean {
  return kind === "Named" && name !== undefined && MARGINAL.has(textIn(template, name));
}

/** Where a rule has stopped: a hint after the error has the place, because the error itself is in the rule. */
function findStoppedElements({ diagnostics, linesAbove }: Compilation): FileRange[] {
  return diagnostics.flatMap(({ severity, message }, index) => {
    if (severity !== "error" || !message.endsWith(STOP)) return [];
    const after = diagnostics.slice(index + 1);
    const next = after.findIndex((each) => each.severity === "error");
    const hints = next === -1 ? after : after.slice(0, next);
    return hints.map((hint) => rangeOf(hint, linesAbove)).find((each) => each !== null) ?? [];
  });
}
