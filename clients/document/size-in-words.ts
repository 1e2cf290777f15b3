/** "812 bytes", "1.5 KiB". */
export function sizeInWords(bytes: number): string {
  if (bytes < 1024) return countInWords(bytes, "byte");
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

/** "1 value", "2 values". @param noun in the singular, with a regular plural */
export function countInWords(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A sentence on each of the first items, and one on how many more there are: the others would fill the screen. */
export function firstSentences<Item>(
  items: readonly Item[],
  max: number,
  describe: (item: Item) => string,
  others: (count: number) => string,
): readonly string[] {
  const more = items.length - max;
  return [...items.slice(0, max).map(describe), ...(more > 0 ? [others(more)] : [])];
}

/** "a, b and 3 more": the first names of a list. */
export function firstInWords(names: readonly string[], max: number): string {
  const more = names.length > max ? ` and ${names.length - max} more` : "";
  return names.slice(0, max).join(", ") + more;
}
