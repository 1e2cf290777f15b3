/**
 * The `Server-Timing` header field (https://www.w3.org/TR/server-timing/): how long each phase of a request took. A
 * backend sends its phases, and the edge adds its own.
 */

export const SERVER_TIMING_HEADER = "Server-Timing";

/** More than the field with all phases needs. */
const MAX_LENGTH = 512;
const METRICS = /^[a-z]+;dur=[0-9]+(?:\.[0-9])?(?:, [a-z]+;dur=[0-9]+(?:\.[0-9])?)*$/;

/** @param milliseconds of each phase, in its order; null or undefined for one that was not reached. */
export function serverTiming(milliseconds: Readonly<Record<string, number | null | undefined>>): string {
  return Object.entries(milliseconds)
    .flatMap(([phase, duration]) =>
      typeof duration === "number" ? [`${phase};dur=${Math.max(0, Math.round(duration * 10) / 10)}`] : [],
    )
    .join(", ");
}

/** A field that another part of the service sent, or null if `serverTiming` cannot have made it. */
export function parseServerTiming(text: string | null): string | null {
  return text !== null && text.length <= MAX_LENGTH && METRICS.test(text) ? text : null;
}

export function joinServerTimings(...timings: readonly (string | null)[]): string {
  return timings.filter((timing) => timing !== null && timing !== "").join(", ");
}
