/** How many threads a render gets: an equal share of the slots, for which there are cores, as far as it has memory for them. */
import type { Output } from "../../rules/output-options.ts";

/** Address space of one thread: its stack of 2 MiB, and the region from which glibc serves it alone. */
const THREAD_BYTES = 66 * 1024 ** 2;
/** A4, in points. Typst does not say how large the pages are before it makes them. */
const PAGE_POINTS = 595 * 842;
const POINTS_PER_INCH = 72;
/** A page is in memory twice, with four bytes for each pixel, when it is encoded. */
const BYTES_PER_PIXEL = 8;

interface Slots {
  shareOfSlots(): number;
}

export class RenderThreads {
  readonly #queue: Slots;
  readonly #maxBytes: number;
  readonly #cores: number;

  /**
   * @param renderMemoryBytes of which half is left for the document
   * @param cores of the machine: threads that wait for each other's core use up the processor time of the render
   */
  constructor(queue: Slots, renderMemoryBytes: number, cores: number) {
    this.#queue = queue;
    this.#maxBytes = renderMemoryBytes / 2;
    this.#cores = cores;
  }

  /** The threads of a render that begins now, or whose process starts before its request. */
  forOutput(output: Output): number {
    const pixels = output.format === "png" ? PAGE_POINTS * (output.ppi / POINTS_PER_INCH) ** 2 : 0;
    const threadsWithRoom = 1 + Math.floor(this.#maxBytes / (THREAD_BYTES + pixels * BYTES_PER_PIXEL));
    return Math.min(this.#queue.shareOfSlots(), this.#cores, threadsWithRoom);
  }
}
