/**
 * One output until it is delivered: in memory while it is small, else in an unnamed file, which vanishes with the process.
 */
import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { ByteBudget, Reservation } from "../admission/byte-budget.ts";
import type { AppendResult } from "../compiler/process.ts";
import { ServiceFailure } from "../error-log.ts";

export const MAX_MEMORY_BYTES_PER_OUTPUT = 1024 ** 2;

const READ_BYTES = 256 * 1024;

export interface SpoolSpace {
  readonly directory: string;
  readonly maxOutputBytes: number;
  readonly memory: ByteBudget;
  readonly disk: ByteBudget;
}

export class Spool {
  readonly #space: SpoolSpace;
  readonly #memory: Reservation;
  readonly #disk: Reservation;
  #chunks: Buffer[] = [];
  #file: FileHandle | null = null;
  #size = 0;

  constructor(space: SpoolSpace, caller: string) {
    this.#space = space;
    this.#memory = space.memory.open(caller);
    this.#disk = space.disk.open(caller);
  }

  /** Includes the last chunks if they were not kept. */
  get size(): number {
    return this.#size;
  }

  /** Null if the output is in a file. */
  get bytes(): Buffer | null {
    if (this.#file !== null) return null;
    const [only, ...others] = this.#chunks;
    return only !== undefined && others.length === 0 ? only : Buffer.concat(this.#chunks);
  }

  /** After any result but `kept` the output is incomplete. @throws if the machine fails: disk full, for one. */
  async append(...chunks: readonly Buffer[]): Promise<AppendResult> {
    const size = chunks.reduce((sum, { length }) => sum + length, this.#size);
    this.#size = size;
    if (size > this.#space.maxOutputBytes) return "too-large";
    if (this.#file === null) {
      if (size <= MAX_MEMORY_BYTES_PER_OUTPUT && this.#memory.resize(size)) {
        this.#chunks.push(...chunks.map(compact));
        return "kept";
      }
      if (!this.#disk.resize(size)) return "no-room";
      this.#file = await openNameless(this.#space.directory);
      await writeWhole(this.#file, this.#chunks.splice(0));
      this.#memory.resize(0);
    } else if (!this.#disk.resize(size)) {
      return "no-room";
    }
    await writeWhole(this.#file, chunks);
    return "kept";
  }

  async *read(): AsyncGenerator<Buffer, void, void> {
    if (this.#file === null) {
      yield* this.#chunks;
      return;
    }
    for (let position = 0; position < this.#size; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, position);
      if (bytesRead === 0) throw new ServiceFailure("the file of an output is shorter than what was written");
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** Whether the output contains `text`, encoded as Latin-1. */
  async includes(text: string): Promise<boolean> {
    let end = Buffer.alloc(0);
    for await (const chunk of this.read()) {
      const searched = Buffer.concat([end, chunk]);
      if (searched.includes(text, 0, "latin1")) return true;
      // A match may begin in one chunk and end in the next.
      end = searched.subarray(Math.max(0, searched.length - text.length + 1));
    }
    return false;
  }

  async clear(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    this.#chunks = [];
    this.#size = 0;
    this.#memory.resize(0);
    try {
      await file?.close();
    } finally {
      this.#disk.resize(0);
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#chunks = [];
    this.#memory.release();
    try {
      await file?.close();
    } finally {
      this.#disk.release();
    }
  }
}

/** A copy if the chunk is a small part of a larger buffer, all of which it would keep in memory. */
function compact(chunk: Buffer): Buffer {
  return chunk.buffer.byteLength > 2 * chunk.length ? Buffer.from(chunk) : chunk;
}

async function openNameless(directory: string): Promise<FileHandle> {
  const path = join(directory, `spool-${randomUUID()}`);
  const file = await open(path, "wx+", 0o600);
  try {
    await unlink(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function writeWhole(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
  let rest = chunks.filter(({ length }) => length > 0);
  while (rest.length > 0) rest = dropBytes(rest, (await file.writev(rest)).bytesWritten);
}

/** What is left of chunks whose first bytes are written. */
function dropBytes(chunks: readonly Buffer[], bytes: number): Buffer[] {
  let dropped = 0;
  return chunks.flatMap((chunk) => {
    const start = Math.min(bytes - dropped, chunk.length);
    dropped += start;
    return start < chunk.length ? [chunk.subarray(start)] : [];
  });
}
