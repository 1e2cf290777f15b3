/** Whether renders can use the work directory: what they need has not been removed or replaced, and there is room. */
import { constants, type Stats, type StatsFs, statSync } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { basename } from "node:path";
import { errorCode, ServiceFailure } from "../error-log.ts";

/** An idle backend takes at most this long to notice. */
const INTERVAL_MILLISECONDS = 1000;

export class WorkDirectoryWatch {
  readonly #identities: ReadonlyMap<string, string>;
  readonly #lost = Promise.withResolvers<string>();
  #lostName: string | null = null;
  #timer: NodeJS.Timeout;
  #isStopped = false;

  /** @param paths files and directories that must stay what they are now. @throws if one is missing. */
  constructor(paths: readonly string[]) {
    this.#identities = new Map(paths.map((path) => [path, identityOf(statSync(path))]));
    this.#timer = this.#lookLater();
  }

  /** Resolves with the name of the first file that is found missing or replaced. Never rejects. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  /** Before the template is blamed: a missing library causes the same failure. @throws ServiceFailure */
  async expectWhole(): Promise<void> {
    await this.#look();
    if (this.#lostName !== null) throw new ServiceFailure("a file is missing from the work directory");
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** If the disk hangs, checks must not pile up. */
  #lookLater(): NodeJS.Timeout {
    const look = async () => {
      await this.#look();
      if (!this.#isStopped) this.#timer = this.#lookLater();
    };
    return setTimeout(() => void look(), INTERVAL_MILLISECONDS).unref();
  }

  async #look(): Promise<void> {
    for (const [path, expected] of this.#identities) {
      if (this.#lostName !== null) return;
      if (await mayStillBe(path, expected)) continue;
      this.#lostName ??= basename(path);
      this.#lost.resolve(this.#lostName);
      this.stop();
    }
  }
}

/** Any other error is a failure of the disk, which may recover. */
async function mayStillBe(path: string, expected: string): Promise<boolean> {
  try {
    return identityOf(await stat(path)) === expected;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(errorCode(error));
  }
}

/** Different for any two files, even of one name: file systems reuse the inode number. */
export function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev}:${ino}:${birthtimeMs}`;
}

/** With less, files of renders cannot be written: most take less, and a larger output is a file. */
const FULL_DISK_BYTES = 1024 * 1024;
/** Fewer free inodes than this are a full disk. A render takes one for each of its files, directories and pages. */
const FULL_DISK_INODES = 16;

/** The free space in bytes; infinite on a file system without a size, such as ramfs or a tmpfs with `size=0`. */
export async function freeDiskBytes(workDirectory: string): Promise<number> {
  return freeBytesOf(await statfs(workDirectory));
}

function freeBytesOf({ blocks, bavail, bsize }: StatsFs): number {
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

export async function isDiskFull(workDirectory: string): Promise<boolean> {
  try {
    await access(workDirectory, constants.W_OK);
    const space = await statfs(workDirectory);
    // Some file systems make inodes as they need them and count none.
    const lacksInodes = space.files > 0 && space.ffree < FULL_DISK_INODES;
    return lacksInodes || freeBytesOf(space) < FULL_DISK_BYTES;
  } catch {
    return true;
  }
}
