/** The machine on which a benchmark runs: figures are compared only with those from the same kind of machine. */
import { cpus, totalmem } from "node:os";

export interface MachineKind {
  readonly processor: string;
  readonly processorCount: number;
  readonly memoryGibibytes: number;
  readonly platform: string;
  readonly node: string;
}

export function machineKind(): MachineKind {
  const processors = cpus();
  return {
    processor: processors[0]?.model ?? "unknown processor",
    processorCount: processors.length,
    memoryGibibytes: Math.round(totalmem() / 1024 ** 3),
    platform: process.platform,
    node: process.versions.node,
  };
}

export function describeMachineKind({
  processor,
  processorCount,
  memoryGibibytes,
  platform,
  node,
}: MachineKind): string {
  return `${processorCount} × ${processor}, ${memoryGibibytes} GiB, ${platform}, Node ${node}`;
}

/** The line that states the machine and the date of a run. */
export function describeMachine(): string {
  return `${describeMachineKind(machineKind())}, ${new Date().toISOString().slice(0, 10)}`;
}
