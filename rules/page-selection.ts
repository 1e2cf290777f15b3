/** Page selections such as `1,3-5,8-`: their grammar and the number of pages that they select. */

export const PAGE_SELECTION = {
  max_length: 256,
  max_length_unit: "code_points",
  max_selections: 64,
  selection_pattern: "[1-9][0-9]{0,8}(?:-(?:[1-9][0-9]{0,8})?)?",
  selection_pattern_flavour: "pcre",
  selection_pattern_matches_whole_selection: true,
  /** Against `max_output_files`, before the render: the real number is known only after layout. */
  open_range_page_count: 1,
} as const;

const SELECTION = new RegExp(`^${PAGE_SELECTION.selection_pattern}$`);

export interface PageRange {
  readonly first: number;
  readonly last: number | null;
}

export function splitSelections(pages: string): string[] {
  return pages.split(",");
}

/** The range of one selection, or null when it does not match the grammar. `last` may be lower than `first`. */
export function parsePageRange(selection: string): PageRange | null {
  if (!SELECTION.test(selection)) return null;
  const [first = "", last] = selection.split("-");
  if (last === undefined) return { first: Number(first), last: Number(first) };
  return { first: Number(first), last: last === "" ? null : Number(last) };
}

export function parsePageSelection(pages: string): PageRange[] {
  return splitSelections(pages)
    .map(parsePageRange)
    .filter((range) => range !== null);
}

/** The number of distinct pages in the ranges. An open range counts for `open_range_page_count` pages. */
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
