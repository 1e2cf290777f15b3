/**
 * The characters of a font, from its table `cmap`. The table may be anything: its parts must be in order, as readers
 * require, so that no part of it is counted twice.
 */

/** First and last code points in turn, in order. */
export type CharacterRanges = readonly (readonly [first: number, last: number])[];

const MAX_SUBTABLES = 64;
/** The largest fonts have some twenty thousand. */
const MAX_RANGES = 100_000;
const MAX_CODE_POINT = 0x10ffff;
/** For characters beyond U+FFFF as well. In the second, all characters of a group have one glyph. */
const WHOLE_FORMATS: ReadonlySet<number> = new Set([12, 13]);
/** Whether platform and encoding say Unicode: its own platform, or Windows with one of its encodings for Unicode. */
const IS_UNICODE = (platform: number, encoding: number) =>
  platform === 0 || (platform === 3 && [1, 10].includes(encoding));

export function hasCharacter(ranges: CharacterRanges, codePoint: number): boolean {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] ?? [0, 0];
    if (codePoint < first) high = middle - 1;
    else if (codePoint > last) low = middle + 1;
    else return true;
  }
  return false;
}

/** @param tables their offsets by their tags. @returns none if the table is damaged */
export function charactersOf(view: DataView, tables: ReadonlyMap<string, number>): CharacterRanges {
  const table = tables.get("cmap");
  if (table === undefined) return [];
  try {
    const offsets = new Set<number>();
    for (let index = 0; index < Math.min(view.getUint16(table + 2), MAX_SUBTABLES); index++) {
      const record = table + 4 + 8 * index;
      const isUnicode = IS_UNICODE(view.getUint16(record), view.getUint16(record + 2));
      if (isUnicode) offsets.add(table + view.getUint32(record + 4));
    }
    // The table for all of Unicode also has the characters of tables in other formats.
    const whole = [...offsets].filter((offset) => WHOLE_FORMATS.has(view.getUint16(offset)));
    const subtables = whole.length > 0 ? whole : [...offsets];
    return joinRanges(subtables.flatMap((offset) => readSubtable(view, offset)));
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

type Range = readonly [first: number, last: number];

/** The formats that Typst reads. Format 14 is of variants, whose characters are in another one. */
function readSubtable(view: DataView, at: number): Range[] {
  const glyph16 = (start: number) => (index: number) => view.getUint16(start + 2 * index);
  switch (view.getUint16(at)) {
    case 0:
      return readArray(0, 256, (index) => view.getUint8(at + 6 + index));
    case 4:
      return readSegments(view, at);
    case 6:
      return readArray(view.getUint16(at + 6), view.getUint16(at + 8), glyph16(at + 10));
    case 10:
      return readArray(view.getUint32(at + 12), view.getUint32(at + 16), glyph16(at + 20));
    case 12:
    case 13:
      return readGroups(view, at);
    default:
      return [];
  }
}

/** @param glyphAt the glyph of a character, by its place after the first one; 0 if it has none */
function readArray(first: number, count: number, glyphAt: (index: number) => number): Range[] {
  const ranges: Range[] = [];
  for (let index = 0; index < Math.min(count, MAX_CODE_POINT + 1 - first); index++) {
    if (glyphAt(index) !== 0) addCode(ranges, first + index);
  }
  return ranges;
}

function readSegments(view: DataView, at: number): Range[] {
  const doubled = view.getUint16(at + 6);
  const [ends, starts] = [at + 14, at + 16 + doubled];
  const [deltas, offsets] = [starts + doubled, starts + 2 * doubled];
  const ranges: Range[] = [];
  let before = -1;
  for (let index = 0; index < doubled; index += 2) {
    const [first, last] = [view.getUint16(starts + index), view.getUint16(ends + index)];
    if (first > last || first <= before) break;
    before = last;
    const offset = view.getUint16(offsets + index);
    const delta = view.getUint16(deltas + index);
    for (let code = first; code <= last; code++) {
      const place = offsets + index + offset + 2 * (code - first);
      const glyph = offset === 0 ? code : place + 2 <= view.byteLength ? view.getUint16(place) : 0;
      const isThere = offset === 0 ? ((glyph + delta) & 0xffff) !== 0 : glyph !== 0;
      if (isThere) addCode(ranges, code);
    }
  }
  // The last segment is there to end the table.
  return ranges.filter(([first]) => first !== 0xffff);
}

function addCode(ranges: Range[], code: number): void {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] === code - 1) ranges[ranges.length - 1] = [last[0], code];
  else ranges.push([code, code]);
}

function readGroups(view: DataView, at: number): Range[] {
  const count = Math.min(view.getUint32(at + 12), MAX_RANGES);
  const ranges: Range[] = [];
  let before = -1;
  for (let index = 0; index < count; index++) {
    const group = at + 16 + 12 * index;
    const [first, last] = [view.getUint32(group), view.getUint32(group + 4)];
    if (first > last || first <= before || last > MAX_CODE_POINT) break;
    before = last;
    ranges.push([first, last]);
  }
  return ranges;
}

function joinRanges(ranges: Range[]): CharacterRanges {
  const joined: Range[] = [];
  for (const [first, last] of ranges.sort(([left], [right]) => left - right)) {
    const end = joined.at(-1);
    if (end !== undefined && first <= end[1] + 1) joined[joined.length - 1] = [end[0], Math.max(end[1], last)];
    else joined.push([first, last]);
  }
  return joined;
}
