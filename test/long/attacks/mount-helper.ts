/**
 * Mounts for tests that are not permitted to: a privileged helper listens at a socket and runs mount(8) and umount(8)
 * on folders below a given one, in the suite's mount namespace.
 */
import { once } from "node:events";
import { chmod, realpath } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, sep } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";

/** The environment variable with the path of the socket. */
export const MOUNT_SOCKET_VARIABLE = "ATTACK_SUITE_MOUNTS";

const PROGRAMS = ["mount", "umount"] as const;

export interface MountCommand {
  readonly program: (typeof PROGRAMS)[number];
  /** The last one is the folder. */
  readonly arguments: readonly string[];
}

/** Serves every process that can connect to the socket, for folders below `parent`. */
export async function serveMounts(socketPath: string, parent: string): Promise<Server> {
  const server = createServer((socket) => void answer(socket, parent));
  server.listen(socketPath);
  await once(server, "listening");
  await chmod(socketPath, 0o777);
  return server;
}

/** Whether the command succeeded. The helper runs it if there is one, otherwise this process does. */
export async function runMountCommand(command: MountCommand): Promise<boolean> {
  const socketPath = process.env[MOUNT_SOCKET_VARIABLE];
  if (socketPath === undefined) return run(command);
  const socket = connect(socketPath);
  socket.write(`${JSON.stringify(command)}\n`);
  const [line] = await once(createInterface(socket), "line");
  socket.end();
  return line === "true";
}

async function answer(socket: Socket, parent: string): Promise<void> {
  try {
    const [line] = await once(createInterface(socket), "line");
    const command: MountCommand = JSON.parse(line);
    const folder = await realpath(dirname(command.arguments.at(-1) ?? ""));
    const isOurs =
      PROGRAMS.includes(command.program) && `${folder}${sep}`.startsWith(`${await realpath(parent)}${sep}`);
    socket.end(`${isOurs && (await run(command))}\n`);
  } catch {
    socket.destroy();
  }
}

async function run(command: MountCommand): Promise<boolean> {
  const { exitCode } = await execa(command.program, command.arguments, { reject: false, stdin: "ignore" });
  return exitCode === 0;
}
