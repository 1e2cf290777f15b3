/** One backend claims the work directory, and empties it at start, which removes what a crash left behind. */
import { once } from "node:events";
import { chmod, mkdir, readdir, rm, rmdir, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { SettingError } from "../../rules/settings.ts";
import { errorCode } from "../error-log.ts";
import { killStrayProcesses } from "../processes/proc.ts";
import { workDirectoryPath } from "./paths.ts";
import { RENDER_PREFIX } from "./render-directory.ts";
import { identityOf } from "./watch.ts";

/** The address of a socket has at most 103 bytes on macOS and 107 on Linux; 9 are for the name of the claim. */
const MAX_PATH_BYTES = 103 - 9;

/** @throws SettingError if it cannot be made, belongs to another user, or another process works in it. */
export async function prepareWorkDirectory(workDirectory: string) {
  if (Buffer.byteLength(workDirectory) > MAX_PATH_BYTES) {
    throw new SettingError(
      `The path of the work directory ${workDirectory} is longer than ${MAX_PATH_BYTES} bytes. Set SERVICE_WORK_DIRECTORY.`,
    );
  }
  const isNew = await makeDirectory(workDirectory);
  // In a world-writable directory, another user may have created it first.
  if ((await stat(workDirectory)).uid !== process.getuid?.()) {
    throw new SettingError(`The work directory ${workDirectory} belongs to another user. Set SERVICE_WORK_DIRECTORY.`);
  }
  await chmod(workDirectory, 0o700);
  // A socket accepts connections exactly as long as its process lives. A process id in a file outlives a crash.
  const claimPath = workDirectoryPath(workDirectory, "claim");
  if (await hasListener(claimPath)) throw takenDirectory(workDirectory);
  killStrayProcesses((argument) => argument.startsWith(join(workDirectory, RENDER_PREFIX)));
  await emptyDirectory(workDirectory);
  const claim = createServer((socket) => socket.destroy());
  claim.listen(claimPath);
  await once(claim, "listening").catch((error: unknown) => {
    throw errorCode(error) === "EADDRINUSE" ? takenDirectory(workDirectory) : error;
  });
  claim.unref();
  const identity = identityOf(await stat(claimPath));
  const isHeld = async () => {
    const found = await stat(claimPath).catch(() => null);
    return found !== null && identityOf(found) === identity;
  };
  return {
    /** The directory may have been removed, and another backend may own the path now. */
    isHeld,
    /** @throws SettingError if it is not held: backends that start at the same moment all find the directory free. */
    expectHeld: async () => {
      if (!(await isHeld())) throw takenDirectory(workDirectory);
    },
    /** Empties the directory, removes it if it was made for this claim, and gives it up. */
    release: async () => {
      claim.close();
      await emptyDirectory(workDirectory);
      // If something else has been put into it, it stays.
      if (isNew) await rmdir(workDirectory).catch(() => {});
    },
  };
}

function takenDirectory(workDirectory: string): SettingError {
  return new SettingError(`Another backend works in ${workDirectory}. Set SERVICE_WORK_DIRECTORY for this one.`);
}

async function makeDirectory(path: string): Promise<boolean> {
  try {
    return (await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined;
  } catch (error) {
    throw new SettingError(
      `The work directory ${path} cannot be made: ${errorCode(error)}. Set SERVICE_WORK_DIRECTORY.`,
    );
  }
}

async function hasListener(socketPath: string): Promise<boolean> {
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

async function emptyDirectory(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true, force: true });
}
