/**
 * Describes the machine on which a benchmark runs: figures are compared only with those from the same kind of machine.
 */
import { cpus, totalmem } from "node:os";

export function describeMachineKind(): string {
  const processors = cpus();
  const memoryGibibytes = Math.round(totalmem() / 1024 ** 3);
  const processor = processors[0]?.model ?? "unknown processor";
  return `${processors.length} × ${processor}, ${memoryGibibytes} GiB, ${process.platform}, Node ${process.versions.node}`;
}

/** The line that states the machine and the date of a run. */
export function describeMachine(): string {
  return `${describeMachineKind()}, ${new Date().toISOString().slice(0, 10)}`;
}
