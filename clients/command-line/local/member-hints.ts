/**
 * "Did you mean" for members of the data that a template reads and the data does not have.
 */
import { similarName } from "../../data-schema/similar-name.ts";
import type { DataText } from "../project/request.ts";
import { printableLine } from "../terminal.ts";
import type { Diagnostic } from "./diagnostics.ts";

/** Typst's words for a member that is not there. */
const MISSING_MEMBER = /does not (?:contain key|have a field|contain field)s? "([^"]+)"/;
/** Data may be of any size. The first members are enough for suggestions. */
const MAX_MEMBERS = 10_000;
/** A template may misspell any number of names. */
const MAX_HINTS = 20;
/** Values in which members are looked for. */
const MAX_LOOKED_AT = 100_000;

export function memberHints(diagnostics: readonly Diagnostic[], data: DataText | null): string[] {
  if (data === null) return [];
  const wrong = new Set(diagnostics.flatMap(({ message }) => MISSING_MEMBER.exec(message)?.[1] ?? []));
  if (wrong.size === 0) return [];
  const members = memberNames(JSON.parse(data.text));
  return [...wrong].slice(0, MAX_HINTS).flatMap((name) => {
    const closest = similarName(name, members);
    return closest === null ? [] : [printableLine(`The data has no member "${name}". Did you mean "${closest}"?`)];
  });
}

function memberNames(data: unknown): string[] {
  const names = new Set<string>();
  const found: unknown[] = [data];
  for (let index = 0; index < found.length && names.size < MAX_MEMBERS; index++) {
    const next = found[index];
    if (typeof next !== "object" || next === null) continue;
    if (!Array.isArray(next)) for (const name of Object.keys(next).slice(0, MAX_MEMBERS)) names.add(name);
    const room = MAX_LOOKED_AT - found.length;
    if (room > 0) found.push(...Object.values(next).slice(0, Math.min(room, MAX_MEMBERS)));
  }
  return [...names];
}
