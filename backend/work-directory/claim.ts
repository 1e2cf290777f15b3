/**
 * One backend claims the work directory, and empties it at start, which removes what a crash left behind. If the directory
 * holds anything else, the setting names the wrong one: nothing in it is touched.
 */
import { once } from "node:events";
import { existsSync, rmSync, statSync } from "node:fs";
import { chmod, mkdir, readdir, rm, rmdir, stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { basename, join } from "node:path";
import { SettingError } from "../../rules/settings.ts";
import { errorCode } from "../error-log.ts";
import { killStrayProcesses } from "../processes/proc.ts";
import { isServiceName, workDirectoryPath } from "./paths.ts";
import { RENDER_PREFIX } from "./render-directory.ts";
import { identityOf } from "./watch.ts";

/** The address of a socket has at most 103 bytes on macOS and 107 on Linux; 9 are for the name of the claim. */
const MAX_PATH_BYTES = 103 - 9;

/** @throws SettingError if it cannot be made, holds what is not the service's, belongs to another user, or another process works in it. */
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
  await expectNothingElse(workDirectory);
  await chmod(workDirectory, 0o700);
  // A socket accepts connections exactly as long as its process lives. A process id in a file outlives a crash.
  const claimPath = workDirectoryPath(workDirectory, "claim");
  if (await hasListener(claimPath)) throw takenDirectory(workDirectory);
  const followsCrash = existsSync(claimPath);
  killStrayProcesses((argument) => argument.startsWith(join(workDirectory, RENDER_PREFIX)));
  await removeOwnFiles(workDirectory);
  const claim = createServer((socket) => socket.destroy());
  claim.listen(claimPath);
  await once(claim, "listening").catch((error: unknown) => {
    throw errorCode(error) === "EADDRINUSE" ? takenDirectory(workDirectory) : error;
  });
  claim.unref();
  const identity = identityOf(await stat(claimPath));
  const isHeld = () => {
    try {
      return identityOf(statSync(claimPath)) === identity;
    } catch {
      return false;
    }
  };
  return {
    /** Whether the last backend here was killed, or the machine: one that stops gives up its claim. */
    followsCrash,
    /** The directory may have been removed, and another backend may own the path now. */
    isHeld,
    /** @throws SettingError if it is not held: backends that start at the same moment all find the directory free. */
    expectHeld: async () => {
      if (!isHeld()) throw takenDirectory(workDirectory);
    },
    /** For an end at once, before there is a render: the next backend empties the directory. */
    abandon: () => {
      if (isHeld()) rmSync(claimPath);
    },
    /** Empties the directory, gives it up, and removes it if it was made for this claim. */
    release: async () => {
      // Until it is empty, no other backend may begin to make files in it.
      await removeOwnFiles(workDirectory, basename(claimPath));
      claim.close();
      await once(claim, "close");
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

const MAX_NAMED_ENTRIES = 3;

/** A person may have meant a directory as a place for the work directory, such as a home. */
async function expectNothingElse(workDirectory: string): Promise<void> {
  const others = (await readdir(workDirectory)).filter((name) => !isServiceName(name)).sort();
  if (others.length === 0) return;
  const named = others.slice(0, MAX_NAMED_ENTRIES).map((name) => JSON.stringify(name));
  const more = others.length > MAX_NAMED_ENTRIES ? ` and ${others.length - MAX_NAMED_ENTRIES} more` : "";
  throw new SettingError(
    `The work directory ${workDirectory} holds what the service has not made: ${named.join(", ")}${more}. Set SERVICE_WORK_DIRECTORY to a directory of its own, which the service empties.`,
  );
}

async function removeOwnFiles(directory: string, kept?: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (isServiceName(name) && name !== kept) await rm(join(directory, name), { recursive: true, force: true });
  }
}
