/** Recognises known field names from the bytes of the body, without making a string of them. */
import { decodeJsonString, type StringSpan } from "./string.ts";

/** The name that equals a scanned JSON string, or null. @param names ASCII. */
export function findName<Name extends string>(names: readonly Name[], body: Uint8Array, span: StringSpan): Name | null {
  const { start, size, hasEscapes } = span;
  for (const name of names) {
    if (name.length !== size) continue;
    if (hasEscapes ? decodeJsonString(body, span, size + 1) === name : isAt(body, start, name)) return name;
  }
  return null;
}

function isAt(body: Uint8Array, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    if (body[start + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}
