/**
 * The directory that holds the temporary projects: claimed by one process, and emptied at start, so that a crash leaves
 * nothing behind for long.
 */
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { SettingError } from "../rules/integer-setting.ts";
import type { BackendSettings } from "./settings.ts";

/** A claim on the work directory, for as long as the process lives. */
export interface WorkDirectoryClaim {
  /** Empties the directory and gives it up. */
  release(): Promise<void>;
}

/** A socket in the directory is the claim: it answers while its process lives, and no process id can be mistaken. */
const CLAIM_NAME = "claim";

/**
 * Makes the work directory, for this user alone, claims it and empties it.
 *
 * @throws SettingError where it belongs to somebody else, or another process works in it.
 */
export async function prepareWorkDirectory(settings: BackendSettings): Promise<WorkDirectoryClaim> {
  const { workDirectory } = settings;
  await mkdir(workDirectory, { recursive: true, mode: 0o700 });
  // In a directory for everybody, somebody may have been first with the name.
  if ((await stat(workDirectory)).uid !== process.getuid?.()) {
    throw new SettingError(`The work directory ${workDirectory} belongs to another user. Set SERVICE_WORK_DIRECTORY.`);
  }
  await chmod(workDirectory, 0o700);
  const claimPath = join(workDirectory, CLAIM_NAME);
  if (await answers(claimPath)) {
    throw new SettingError(`Another backend works in ${workDirectory}. Set SERVICE_WORK_DIRECTORY for this one.`);
  }
  await empty(workDirectory);
  const claim = createServer((socket) => socket.destroy());
  claim.listen(claimPath);
  await once(claim, "listening");
  claim.unref();
  return {
    release: async () => {
      claim.close();
      await empty(workDirectory);
    },
  };
}

/** The folder given as the package folder where none is set: Typst must have one, and it must be empty. */
export function emptyPackageDirectory({ workDirectory }: BackendSettings): string {
  return join(workDirectory, "no-packages");
}

export async function makeEmptyPackageDirectory(settings: BackendSettings): Promise<void> {
  await mkdir(emptyPackageDirectory(settings), { recursive: true });
}

async function answers(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function empty(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true, force: true });
}
