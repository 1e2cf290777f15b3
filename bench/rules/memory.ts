/** Validates one body, and prints by how many bytes the peak of the resident set exceeds its start. Linux only. */
import { readFileSync, writeFileSync } from "node:fs";
import { BODIES } from "./bodies.ts";
import { CONTESTANTS } from "./worker.ts";

const [bodyName = "", contestantName = ""] = process.argv.slice(2);
const make = BODIES[bodyName];
const contestant = Object.entries(CONTESTANTS).find(([name]) => name === contestantName)?.[1];
if (make === undefined || contestant === undefined) throw new Error("usage: memory.ts <body> <contestant>");

const RESET_PEAK = "5";
const body = make();
// Validate a small body first so that the code is compiled, and collect the garbage from making the body.
for (let index = 0; index < 3000; index++) contestant(new TextEncoder().encode('{"source":"x","data":[1,"a"]}'));
globalThis.gc?.();
globalThis.gc?.();
writeFileSync("/proc/self/clear_refs", RESET_PEAK);
const before = residentBytes("VmRSS");
contestant(body);
process.stdout.write(String(Math.max(0, residentBytes("VmHWM") - before)));

function residentBytes(field: "VmRSS" | "VmHWM"): number {
  const line = new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(readFileSync("/proc/self/status", "utf8"));
  return Number(line?.[1] ?? 0) * 1024;
}
