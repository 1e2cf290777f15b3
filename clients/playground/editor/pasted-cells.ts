/** Cells that are copied from a spreadsheet, pasted into the data as rows: members are named by the first row. */
import { EditorView } from "@codemirror/view";

/** As JSON and Typst read them without loss. Others, such as `007` and `1,5`, stay texts. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/;
const MAX_CELLS = 100_000;

export const pastedCells = EditorView.domEventHandlers({
  paste: (event, view) => {
    const cells = readCells(event.clipboardData?.getData("text/plain") ?? "");
    if (cells === null) return false;
    const { from, to } = view.state.selection.main;
    const rest = view.state.sliceDoc(0, from) + view.state.sliceDoc(to);
    const rows = rowsAsJson(cells);
    // Data is best an object: other members can be added.
    const text = rest.trim() === "" ? `{\n  "rows": ${rows.replaceAll("\n", "\n  ")}\n}` : rows;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(text), { userEvent: "input.paste", scrollIntoView: true });
    return true;
  },
});

/** Null if the text is no cells: spreadsheets put a tab between two, and quotes around a cell with a line end. */
export function readCells(text: string): string[][] | null {
  if (!text.includes("\t") || /^\s*[[{]/.test(text)) return null;
  const rows: string[][] = [[]];
  let count = 0;
  for (const [, quoted, plain = "", end] of text
    .trimEnd()
    .matchAll(/(?:"((?:[^"]|"")*)"(?=[\t\r\n]|$)|([^\t\r\n]*))(\t|\r?\n|$)/g)) {
    if (++count > MAX_CELLS) return null;
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === "") break;
    if (end !== "\t") rows.push([]);
  }
  return rows;
}

/** Without a row of different names above them, the rows are arrays. */
export function rowsAsJson(cells: readonly (readonly string[])[]): string {
  const [head = [], ...rows] = cells;
  const names = head.map((name) => name.trim());
  const isHead = rows.length > 0 && !names.includes("") && new Set(names).size === names.length;
  const fits = isHead && rows.every(({ length }) => length <= names.length);
  const lines = fits
    ? rows.map(
        (row) => `{ ${names.map((name, at) => `${JSON.stringify(name)}: ${jsonOf(row[at] ?? "")}`).join(", ")} }`,
      )
    : cells.map((row) => `[${row.map(jsonOf).join(", ")}]`);
  return `[\n  ${lines.join(",\n  ")}\n]`;
}

function jsonOf(cell: string): string {
  const text = cell.trim();
  return NUMBER.test(text) ? text : JSON.stringify(text);
}
