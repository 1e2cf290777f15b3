/**
 * Validates `data`: any JSON value that Typst can read and whose strings are within the limit. Violations are recorded
 * as offsets; their paths are computed in a second pass, only when there is something to report.
 */
import { JsonCursor, type ValueObserver } from "./json/cursor.ts";
import { decodeJsonString, type StringSpan } from "./json/string.ts";
import { MAX_SEGMENT_CODE_POINTS } from "./quote.ts";
import { MAX_REPORTED_ERRORS } from "./validation-errors.ts";

/** Typst reads JSON by serde_json, whose recursion limit is 128. */
export const MAX_DATA_DEPTH = 127;

/**
 * Typst, for its TOML support, reads an object as a date when this is its only key, which may be repeated, and the last
 * value is a date, a time or both (0.15.1: test/rules/json/typst-reads-json.test.ts). So it is rejected.
 */
const RESERVED_KEY = "$__toml_private_datetime";

/** The date formats that Typst reads. The only zone is `Z`; a year has four digits and may have a sign. */
const DATE_FORMAT =
  /^(?:[+-]?(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:T(?<time>\d\d:\d\d:\d\d)Z?)?|(?<timeAlone>\d\d:\d\d:\d\d))$/;
const TIME_FORMAT = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;

const MAX_DATE_LENGTH = "+2020-01-01T00:00:00Z".length;

interface DateCandidate {
  readonly depth: number;
  keyOffset: number;
  valueOffset: number;
}

export type DataErrorType = "lone_surrogate" | "number_out_of_range" | "nesting_too_deep" | "reserved_key";

export type DataPath = readonly (string | number)[];

interface DataError {
  readonly type: DataErrorType;
  readonly offset: number;
}

interface OversizeString {
  readonly offset: number;
  readonly subject: "key" | "value";
  readonly size: number;
}

export class DataErrorList implements ValueObserver {
  readonly maxDepth = MAX_DATA_DEPTH;
  readonly watchedKeyBytes = RESERVED_KEY.length;
  readonly maxStringBytes: number;
  /** The first violations in the order of the text. `count` is the number of all. */
  readonly first: DataError[] = [];
  count = 0;
  firstOversize: OversizeString | null = null;
  watchedDepth = 0;

  readonly #candidates: DateCandidate[] = [];
  readonly #body: Uint8Array;

  constructor(body: Uint8Array, maxStringBytes: number) {
    this.#body = body;
    this.maxStringBytes = maxStringBytes;
  }

  onString(offset: number, isKey: boolean, size: number, hasLoneSurrogates: boolean): void {
    if (hasLoneSurrogates) this.#add("lone_surrogate", offset);
    if (size > this.maxStringBytes) this.firstOversize ??= { offset, subject: isKey ? "key" : "value", size };
  }

  onKey(key: StringSpan, depth: number, isFirst: boolean, valueOffset: number): void {
    const isReserved =
      key.size === RESERVED_KEY.length && decodeJsonString(this.#body, key, RESERVED_KEY.length) === RESERVED_KEY;
    const innermost = this.#candidates.at(-1);
    if (isFirst) {
      if (isReserved) this.#candidates.push({ depth, keyOffset: key.start - 1, valueOffset });
    } else if (innermost?.depth === depth) {
      if (isReserved) {
        innermost.keyOffset = key.start - 1;
        innermost.valueOffset = valueOffset;
      } else {
        this.#candidates.pop();
      }
    }
    this.watchedDepth = this.#candidates.at(-1)?.depth ?? 0;
  }

  onWatchedEnd(lastString: StringSpan): void {
    const candidate = this.#candidates.pop();
    this.watchedDepth = this.#candidates.at(-1)?.depth ?? 0;
    const isValue = candidate?.valueOffset === lastString.start - 1 && lastString.size <= MAX_DATE_LENGTH;
    if (candidate === undefined || !isValue) return;
    if (readsAsDate(decodeJsonString(this.#body, lastString, MAX_DATE_LENGTH))) {
      this.#add("reserved_key", candidate.keyOffset);
    }
  }

  onHugeNumber(offset: number): void {
    this.#add("number_out_of_range", offset);
  }

  onTooDeep(offset: number): void {
    this.#add("nesting_too_deep", offset);
  }

  #add(type: DataErrorType, offset: number): void {
    this.count++;
    if (this.first.length < MAX_REPORTED_ERRORS) this.first.push({ type, offset });
  }
}

export function validateData(cursor: JsonCursor, maxStringBytes: number): DataErrorList {
  const errors = new DataErrorList(cursor.body, maxStringBytes);
  cursor.skipValue(errors);
  return errors;
}

/** The paths in `data` of the values or keys at these ascending offsets. A key is the last segment of its own path. */
export function pathsAt(body: Uint8Array, dataStart: number, offsets: readonly number[]): DataPath[] {
  const cursor = new JsonCursor(body);
  cursor.position = dataStart;
  const paths: DataPath[] = [];
  const path: (string | number)[] = [];
  const isWanted = (offset: number) => offset === offsets[paths.length];

  const segmentOfKey = () =>
    decodeJsonString(body, { start: cursor.stringStart, end: cursor.stringEnd }, 2 * MAX_SEGMENT_CODE_POINTS + 2);

  // The recursion is bounded: at MAX_DATA_DEPTH a container is skipped.
  const walk = (depth: number): void => {
    if (isWanted(cursor.position)) paths.push([...path]);
    if (paths.length === offsets.length) return;
    const kind = cursor.peekKind();
    if ((kind !== "object" && kind !== "array") || depth === MAX_DATA_DEPTH) {
      cursor.skipValue(null);
    } else if (kind === "object") {
      for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
        path.push(segmentOfKey());
        if (isWanted(cursor.stringStart - 1)) paths.push([...path]);
        walk(depth + 1);
        if (paths.length === offsets.length) return;
        path.pop();
      }
    } else {
      let index = 0;
      for (let more = cursor.enterArray(); more; more = cursor.nextItem()) {
        path.push(index++);
        walk(depth + 1);
        if (paths.length === offsets.length) return;
        path.pop();
      }
    }
  };
  walk(0);
  return paths;
}

function readsAsDate(text: string): boolean {
  const { year, month, day, time, timeAlone } = DATE_FORMAT.exec(text)?.groups ?? {};
  const clock = time ?? timeAlone;
  if (clock !== undefined && !TIME_FORMAT.test(clock)) return false;
  if (year === undefined) return clock !== undefined;
  return Number(day) >= 1 && Number(day) <= daysIn(Number(year), Number(month));
}

function daysIn(year: number, month: number): number {
  const isLeapYear = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}
