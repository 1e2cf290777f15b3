/**
 * Notices that the work directory, or something in it that renders need, is gone: removed by a cleaner of old files or
 * by hand, or taken over by another backend. Nothing is repaired: the backend ends and starts anew (`main.ts`).
 */
import { statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { describeError, ServiceFailure } from "../error-log.ts";
import { identityOf } from "./identity.ts";

/** How long an idle backend takes to notice, at most. */
const INTERVAL_MILLISECONDS = 1000;

export class WorkDirectoryWatch {
  /** What was there at the start, by path. */
  readonly #identities: ReadonlyMap<string, string>;
  readonly #lost = Promise.withResolvers<string>();
  #lostName: string | null = null;
  #timer: NodeJS.Timeout;
  #isStopped = false;

  /**
   * Begins to watch.
   *
   * @param paths files and directories that must stay what they are now.
   * @throws if one is missing.
   */
  constructor(paths: readonly string[]) {
    this.#identities = new Map(paths.map((path) => [path, identityOf(statSync(path))]));
    this.#timer = this.#lookLater();
  }

  /** Resolves with the name of the first file that is found missing or replaced. Never rejects. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  /**
   * Looks now. A render calls it before it blames a template for a failure that a missing library would cause as well.
   *
   * @throws ServiceFailure if something is gone.
   */
  async expectWhole(): Promise<void> {
    await this.#look();
    if (this.#lostName !== null) throw new ServiceFailure("the work directory is no longer whole");
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** One look after the other: on a disk that hangs, they must not pile up. */
  #lookLater(): NodeJS.Timeout {
    const look = async () => {
      await this.#look();
      if (!this.#isStopped) this.#timer = this.#lookLater();
    };
    return setTimeout(look, INTERVAL_MILLISECONDS).unref();
  }

  async #look(): Promise<void> {
    for (const [path, expected] of this.#identities) {
      if (this.#lostName !== null) return;
      if (await isOrMayBe(path, expected)) continue;
      this.#lostName ??= basename(path);
      this.#lost.resolve(this.#lostName);
      this.stop();
    }
  }
}

/** Whether a path still names the same file. A disk that cannot say so has failed otherwise, and may recover. */
async function isOrMayBe(path: string, expected: string): Promise<boolean> {
  try {
    return identityOf(await stat(path)) === expected;
  } catch (error) {
    return !["ENOENT", "ENOTDIR"].includes(describeError(error).code);
  }
}
