/** The memory that a backend may use, for a table of docs/deploy/capacity.md, and for tests of what is deployed. */
import { type BackendSettings, readBackendSettings } from "../../backend/settings.ts";

/** What the backend's own process, the shell that starts a Typst, and each waiting Typst need: docs/operations.md. */
const PROCESS_BYTES = 380e6;
const SHELL_BYTES = 4e6;
const WARM_RENDER_BYTES = 30e6;

/**
 * The memory that a backend may use.
 *
 * @param workBytes the size of its work directory, where that is in memory.
 */
export function backendMemoryBytes(settings: BackendSettings, workBytes: number): number {
  const renders = settings.maxConcurrentRenders * (settings.renderMemoryBytes + SHELL_BYTES);
  const held = settings.maxBodyMemoryBytes + settings.maxOutputMemoryBytes + workBytes;
  return renders + held + PROCESS_BYTES + settings.warmRenders * (WARM_RENDER_BYTES + SHELL_BYTES);
}

/** Where the work directory is on a disk, by the slots of a backend with as many waiting processes, in MiB. */
export function backendMebibytes(slots: number): number {
  const count = String(slots);
  const settings = { SERVICE_MAX_CONCURRENT_RENDERS: count, SERVICE_WARM_RENDERS: count };
  return Math.ceil(backendMemoryBytes(readBackendSettings(settings), 0) / 1024 ** 2);
}
