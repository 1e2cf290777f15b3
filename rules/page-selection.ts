/**
 * Page selections such as `1,3-5,8-`: their grammar, and how many pages they name.
 */

export const PAGE_SELECTION = {
  max_length: 256,
  max_length_unit: "code_points",
  max_selections: 64,
  selection_pattern: "[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?",
  selection_pattern_flavour: "pcre",
  selection_pattern_matches_whole_selection: true,
  /**
   * How many pages an open range counts for against `max_output_files` before the render: how many more there are is known
   * only after layout.
   */
  open_range_page_count: 1,
} as const;

const SELECTION = new RegExp(`^${PAGE_SELECTION.selection_pattern}$`);

/** One selection: pages `first` to `last`, `last` being null for an open range. */
export interface PageRange {
  readonly first: number;
  readonly last: number | null;
}

/** A selection string's comma-separated parts, unparsed. */
export function splitSelections(pages: string): string[] {
  return pages.split(",");
}

/** The range that one part names, or null when it does not match the grammar. The ends may be in the wrong order. */
export function parsePageRange(selection: string): PageRange | null {
  if (!SELECTION.test(selection)) return null;
  const [first = "", last] = selection.split("-");
  if (last === undefined) return { first: Number(first), last: Number(first) };
  return { first: Number(first), last: last === "" ? null : Number(last) };
}

/** The ranges of a selection that the output rules accept. A part that does not parse is left out. */
export function parsePageSelection(pages: string): PageRange[] {
  return splitSelections(pages)
    .map(parsePageRange)
    .filter((range) => range !== null);
}

/** How many distinct pages the ranges name for certain: an open range counts for its first page. */
export function countDistinctPages(ranges: readonly PageRange[]): number {
  const closed = ranges.map(({ first, last }) => ({
    first,
    last: last ?? first + PAGE_SELECTION.open_range_page_count - 1,
  }));
  closed.sort((left, right) => left.first - right.first);
  let count = 0;
  let counted = 0;
  for (const { first, last } of closed) {
    const from = Math.max(first, counted + 1);
    if (last < from) continue;
    count += last - from + 1;
    counted = last;
  }
  return count;
}
