/** Backends for what only tells them apart, or has the test ask them: nobody fetches from these. */
import type { Backend } from "../../edge/backends/backend-choice.ts";

export function stubBackends<Names extends readonly (string | number)[]>(...names: Names) {
  const fetch = () => Promise.reject(new Error("a stub"));
  return names.map((name) => ({ name: String(name), fetch })) as { [Place in keyof Names]: Backend };
}
