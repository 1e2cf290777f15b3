/** Writes values of a program as JSON, and refuses numbers that JSON lacks: `JSON.stringify` would silently write `null`. */

/** @throws TypeError that names the place of NaN or an infinite number, and what `JSON.stringify` throws */
export function writeJsonText(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  // Most requests have no `null`, and need no second look.
  if (text?.includes("null") && hasOtherNumbers(value)) refuseOtherNumbers(value);
  return text ?? "";
}

function isOther(value: unknown): value is number {
  return typeof value === "number" && !Number.isFinite(value);
}

function hasOtherNumbers(value: unknown): boolean {
  let isFound = false;
  JSON.stringify(value, (_key, member: unknown) => {
    isFound ||= isOther(member);
    return member;
  });
  return isFound;
}

function refuseOtherNumbers(value: unknown): void {
  const places = new Map<unknown, string>();
  JSON.stringify(value, function (this: unknown, key: string, member: unknown) {
    const parent = places.get(this) ?? "";
    const place = parent === "" ? key : `${parent}.${key}`;
    if (isOther(member)) {
      const words = Number.isNaN(member) ? "NaN" : "infinite";
      throw new TypeError(`${place || "the request"} is ${words}, which JSON does not have: send null, or a text.`);
    }
    if (typeof member === "object" && member !== null) places.set(member, place);
    return member;
  });
}
