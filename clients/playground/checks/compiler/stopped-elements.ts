/** Where a show rule above the template has stopped the compilation: so the page finds elements by what Typst knows. */
import { type Compilation, type FileRange, rangeOf } from "./project-text.ts";

/** How the messages of these rules end. */
export const STOP = "~stopped here";

export type StoppedElement = FileRange & { readonly stopped: string };

/** Where a rule has stopped: a hint after the error has the place, because the error itself is in the rule. */
export function findStoppedElements({ diagnostics, linesAbove }: Compilation): StoppedElement[] {
  return diagnostics.flatMap(({ severity, message }, index) => {
    if (severity !== "error" || !message.endsWith(STOP)) return [];
    const after = diagnostics.slice(index + 1);
    const next = after.findIndex((each) => each.severity === "error");
    const hints = next === -1 ? after : after.slice(0, next);
    const place = hints.map((hint) => rangeOf(hint, linesAbove)).find((each) => each !== null);
    const stopped = message.replace(/^assertion failed: /, "");
    return place === undefined ? [] : [{ ...place, stopped }];
  });
}
