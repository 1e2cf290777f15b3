/**
 * The directory that holds the temporary projects: claimed by one process, and emptied at start, so that a crash leaves
 * nothing behind for long.
 */
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { SettingError } from "../../rules/settings.ts";
import type { BackendSettings } from "../settings.ts";
import { workDirectoryPath } from "./paths.ts";
import { PROJECT_PREFIX } from "./render-directory.ts";
import { killStrayProcesses } from "./stray-processes.mjs";

/** A claim on the work directory, for as long as the process lives. */
export interface WorkDirectoryClaim {
  /** Empties the directory and gives it up. */
  release(): Promise<void>;
}

/**
 * For the sockets in the directory: an address has room for 103 bytes on macOS and 107 on Linux, and none of their names is
 * longer than 9 with the slash before it.
 */
const MAX_PATH_BYTES = 103 - 9;

/**
 * Makes the work directory, for this user alone, claims it and empties it.
 *
 * @throws SettingError where its path is too long, it belongs to somebody else, or another process works in it.
 */
export async function prepareWorkDirectory(settings: BackendSettings): Promise<WorkDirectoryClaim> {
  const { workDirectory } = settings;
  if (Buffer.byteLength(workDirectory) > MAX_PATH_BYTES) {
    throw new SettingError(
      `The path of the work directory ${workDirectory} is longer than ${MAX_PATH_BYTES} bytes. Set SERVICE_WORK_DIRECTORY.`,
    );
  }
  await mkdir(workDirectory, { recursive: true, mode: 0o700 });
  // In a directory for everybody, somebody may have been first with the name.
  if ((await stat(workDirectory)).uid !== process.getuid?.()) {
    throw new SettingError(`The work directory ${workDirectory} belongs to another user. Set SERVICE_WORK_DIRECTORY.`);
  }
  await chmod(workDirectory, 0o700);
  // A socket: it answers while its process lives, and no process id can be mistaken.
  const claimPath = workDirectoryPath(workDirectory, "claim");
  if (await answers(claimPath)) {
    throw new SettingError(`Another backend works in ${workDirectory}. Set SERVICE_WORK_DIRECTORY for this one.`);
  }
  killStrayProcesses((argument) => argument.startsWith(join(workDirectory, PROJECT_PREFIX)));
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

/** The package folder of a Typst for which none is set. */
export function emptyPackageDirectory({ workDirectory }: BackendSettings): string {
  return workDirectoryPath(workDirectory, "emptyPackages");
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
