/** Backends for what only tells them apart, or has the test ask them: nothing is sent to these. */
import type { Backend } from "../../edge/platform/platform.ts";

export function stubBackends<Names extends readonly (string | number)[]>(...names: Names) {
  const send = () => Promise.reject(new Error("a stub"));
  return names.map((name) => ({ name: String(name), send })) as { [Place in keyof Names]: Backend };
}
