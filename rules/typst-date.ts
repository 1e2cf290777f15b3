/**
 * Objects in `data` that Typst turns into a date, a trace of its TOML support: they would not reach the source as they
 * were sent, so they are rejected. Tested with Typst 0.15.1 by test/rules/json/typst-reads-json.test.ts.
 */

/**
 * Typst reads an object as a date when this is its only key, which may be repeated, and the last value is a string that
 * is a date, a time or both.
 */
export const RESERVED_KEY = "$__toml_private_datetime";

/** The date formats that Typst reads. The only zone is `Z`; a year has four digits and may have a sign. */
const DATE_FORMAT =
  /^(?:[+-]?(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)(?:T(?<time>\d\d:\d\d:\d\d)Z?)?|(?<timeAlone>\d\d:\d\d:\d\d))$/;
const TIME_FORMAT = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/;

export const MAX_DATE_LENGTH = "+2020-01-01T00:00:00Z".length;

export function readsAsDate(text: string): boolean {
  const { year, month, day, time, timeAlone } = DATE_FORMAT.exec(text)?.groups ?? {};
  const clock = time ?? timeAlone;
  if (clock !== undefined && !TIME_FORMAT.test(clock)) return false;
  if (year === undefined) return clock !== undefined;
  return Number(day) >= 1 && Number(day) <= daysIn(Number(year), Number(month));
}

/** The days of a month in the proleptic Gregorian calendar; 0 when there is no such month. */
function daysIn(year: number, month: number): number {
  const isLeapYear = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}
