/** The line that describes the machine on which a benchmark ran. */
import { cpus, totalmem } from "node:os";

export function describeMachine(): string {
  const processors = cpus();
  const memoryGibibytes = Math.round(totalmem() / 1024 ** 3);
  const date = new Date().toISOString().slice(0, 10);
  return `${processors.length} × ${processors[0]?.model ?? "unknown processor"}, ${memoryGibibytes} GiB, ${process.platform}, Node ${process.versions.node}, ${date}`;
}
