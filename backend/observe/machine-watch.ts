/** Whether the machine has free processes and space for a render: for `/ready`, and by itself for the log. */
import { NEXT_STEPS, type UnavailableCause } from "../../rules/causes.ts";
import { listZombies, nameOfProcess1, type ProcessLimits, type ProcessUse } from "../processes/process-limits.ts";
import { isDiskFull } from "../work-directory/watch.ts";

const INTERVAL_MILLISECONDS = 5000;
/**
 * Of one render: its shell, the two processes of bubblewrap, Typst, a thread that reads its input, and one to spare. Where
 * Typst cannot start its other threads, it goes on with one.
 */
const PROCESSES_PER_RENDER = 6;
/** Renders to keep room for: some arrive after `/ready` has said 503, and some processes are started ahead. */
const RENDERS_AHEAD = 4;

export type Shortage = Extract<UnavailableCause, "disk_full" | "process_limit">;

export interface MachineWatchOptions {
  readonly workDirectory: string;
  readonly processLimits: ProcessLimits;
  readonly log: (level: "info" | "error", line: string) => void;
}

export class MachineWatch {
  readonly #options: MachineWatchOptions;
  readonly #timer: NodeJS.Timeout;
  #look: Promise<Shortage | null> | null = null;
  #known: Shortage | null = null;
  /** Null when it is known whether process 1 waits for others. */
  #firstZombies: readonly number[] | null = listZombies();

  /** The trial of the sandbox should have run: it leaves zombies if process 1 lets them be. */
  constructor(options: MachineWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => {
      this.#judgeProcess1();
      void this.findShortage();
    }, INTERVAL_MILLISECONDS).unref();
  }

  /** What the next render would lack. Questions at the same time share one look. */
  findShortage(): Promise<Shortage | null> {
    this.#look ??= this.#lookForShortage().finally(() => {
      this.#look = null;
    });
    return this.#look;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #lookForShortage(): Promise<Shortage | null> {
    const { workDirectory, log } = this.#options;
    const needed = RENDERS_AHEAD * PROCESSES_PER_RENDER;
    const lacking = this.#options.processLimits.findShortage(needed);
    const found = lacking !== null ? "process_limit" : (await isDiskFull(workDirectory)) ? "disk_full" : null;
    if (found !== this.#known) {
      this.#known = found;
      if (found === null) log("info", "ready again");
      else if (lacking === null) log("error", `not ready: ${FULL_DISK}`);
      else log("error", `not ready: ${describeLackOfProcesses(lacking, needed, listZombies().length)}`);
    }
    return found;
  }

  /** An init reaps within milliseconds; a zombie seen at two looks in a row will never be reaped. */
  #judgeProcess1(): void {
    if (this.#firstZombies === null) return;
    const now = new Set(this.#firstZombies.length === 0 ? [] : listZombies());
    if (this.#firstZombies.some((pid) => now.has(pid))) this.#options.log("error", describeProcess1());
    this.#firstZombies = null;
  }
}

const FULL_DISK = `the file system of the work directory is full or read-only, so renders fail. ${NEXT_STEPS.disk_full}`;

/** Each render in bubblewrap leaves a zombie for a moment: they are the cause only if there are as many as needed. */
export function describeLackOfProcesses({ used, max }: ProcessUse, needed: number, zombies: number): string {
  const advice =
    zombies >= needed ? ` ${zombies} of them have ended. ${describeProcess1()}` : ` ${NEXT_STEPS.process_limit}`;
  return `${used} of ${max} processes and threads are in use, and the next renders need ${needed}.${advice}`;
}

function describeProcess1(): string {
  return (
    `Process 1 (${nameOfProcess1()}) does not wait for processes whose parent has ended, and each render in bubblewrap leaves one, until ` +
    "no more can be started. Keep the entrypoint of the image, or use another init: docker run --init, init: true in compose.yaml."
  );
}
