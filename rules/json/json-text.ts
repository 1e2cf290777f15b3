/** Writes values of a program as JSON, and refuses what JSON lacks: `JSON.stringify` would silently write `null` or `{}`. */

/** `null` and `{}` may stand for a value that JSON has lost. Most requests have neither, and are not looked at again. */
const SUSPECT = /null|[:[,]\{\}/;

/** @throws TypeError that names the place of what JSON lacks, and what `JSON.stringify` throws */
export function writeJsonText(value: unknown): string {
  let text: string | undefined;
  let isSure = false;
  try {
    text = JSON.stringify(value);
    isSure = !SUSPECT.test(text ?? "");
  } finally {
    if (!isSure) refuseOthers(value);
  }
  return text ?? "";
}

function refuseOthers(value: unknown): void {
  const places = new Map<unknown, string>();
  JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key: string, member: unknown) {
    const parent = places.get(this) ?? "";
    const place = parent === "" ? key : `${parent}.${key}`;
    const [words, instead] = otherThanJson(member, this[key]) ?? [];
    if (words !== undefined) {
      throw new TypeError(`${place || "the request"} is ${words}, which JSON does not have: send ${instead}.`);
    }
    if (typeof member === "object" && member !== null) places.set(member, place);
    return member;
  });
}

/** @param member what `toJSON` has made of `own`. @returns what it is, and what to send instead */
function otherThanJson(member: unknown, own: unknown): readonly [string, string] | null {
  const value = member instanceof Number ? member.valueOf() : member;
  if (typeof value === "bigint") return ["a BigInt", "a text"];
  if (value instanceof Map) return ["a Map", "Object.fromEntries(value)"];
  if (value instanceof Set) return ["a Set", "[...value]"];
  if (value === null && Object.prototype.toString.call(own) === "[object Date]") {
    return ["an invalid date", "null, or a text"];
  }
  if (typeof value !== "number" || Number.isFinite(value)) return null;
  return [Number.isNaN(value) ? "NaN" : "infinite", "null, or a text"];
}
