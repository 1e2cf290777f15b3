/** Finds tables whose last row is not full. Typst leaves it so, without a word: a cell is missing, or one too many. */
import { type Compilation, type CompilerProject, type FileDiagnostic, offsetsOf, textOf } from "./project-text.ts";
import { findStoppedElements, STOP } from "./stopped-elements.ts";

const rule = (name: "table" | "grid") => `#show ${name}: it => {
  let parts = it.children.map(part => if part.func() in (${name}.header, ${name}.footer) { part.children } else { part })
  let cells = parts.flatten().filter(part => part.func() == ${name}.cell)
  let count = cells.map(cell => cell.at("colspan", default: 1) * cell.at("rowspan", default: 1)).sum(default: 0)
  let columns = calc.max(it.columns.len(), 1)
  assert(calc.rem(count, columns) == 0, message: str(count) + " " + str(columns) + " ${STOP}")
  it
}
`;

/** Rows that come from data, and cells that say where they stand, are the author's affair. */
const COMPUTED = /\.\.|\bfor\b|\b[xy]\s*:/;

export function tableFindings(project: CompilerProject, compile: (rules: string) => Compilation): FileDiagnostic[] {
  const isThere = [
    project.source,
    ...project.files.map(({ key }) => (key.endsWith(".typ") ? textOf(project, key) : "")),
  ];
  if (!isThere.some((text) => /\b(?:table|grid)\(/.test(text))) return [];
  return findStoppedElements(compile(rule("table") + rule("grid"))).flatMap(({ stopped, ...place }) => {
    const text = textOf(project, place.key);
    const { from, to } = offsetsOf(text, place);
    const call = text.slice(from, to);
    if (!/^(?:table|grid)\(/.test(call) || COMPUTED.test(call)) return [];
    const [cells = 0, columns = 1] = stopped.split(" ").map(Number);
    // One row of a grid is a layout, which may end early.
    if (call.startsWith("grid") && cells < columns) return [];
    const message = `${cells} cells in rows of ${columns}: the last row lacks ${columns - (cells % columns)}.`;
    return [{ ...place, message }];
  });
}
