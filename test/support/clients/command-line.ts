/**
 * The command line client as a test runs it: in this process, as its own one, or in a pseudo terminal, with a cache of
 * its own and nothing of the environment that would lead it to another service.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { execa } from "execa";
import { expect, inject, onTestFinished, vi } from "vitest";
import { shellCommand } from "../../../backend/launcher/program.ts";
import { typstPath } from "../backend/typst-path.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { API_TOKEN } from "../tokens.ts";

export const PROGRAM = inject("commandLinePath");

type CommandRun = ReturnType<typeof runOf>;

/** What is undefined is not set. */
type Environment = Readonly<Record<string, string | undefined>>;

export interface CommandOptions {
  readonly env?: Environment;
  readonly input?: string;
  readonly program?: string;
}

/** What the command finds in its environment. `cwd` holds its cache. */
export function commandEnvironment(cwd: string, env: Environment = {}): Environment {
  return {
    PATH: process.env.PATH ?? "",
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
    ...(process.env.TMPDIR && { TMPDIR: process.env.TMPDIR }),
    HOME: cwd,
    XDG_CACHE_HOME: join(cwd, ".cache"),
    SERVICE_TYPST_BIN: typstPath(),
    SERVICE_API_TOKEN: API_TOKEN,
    // Not those of this checkout.
    SERVICE_FONT_PATHS: "",
    SERVICE_PACKAGE_PATH: "",
    ...env,
  };
}

/** Starts the command; `execa` gives its process. */
export function startCommand(cwd: string, args: readonly string[], { env, input, program }: CommandOptions = {}) {
  return execa(process.execPath, [program ?? PROGRAM, ...args], {
    cwd,
    env: commandEnvironment(cwd, env),
    extendEnv: false,
    reject: false,
    encoding: "buffer",
    stripFinalNewline: false,
    ...(input === undefined ? { stdin: "ignore" } : { input }),
  });
}

/** Starts a command that watches, and waits until it does. It is interrupted with its test. */
export async function startWatching(cwd: string, args: readonly string[], options?: CommandOptions) {
  const running = startCommand(cwd, [...args, "--watch"], options);
  onTestFinished(async () => {
    running.kill("SIGINT");
    await running;
  });
  const watch = { running, seen: "" };
  running.stderr.on("data", (chunk: Buffer) => {
    watch.seen += chunk.toString("utf8");
  });
  await expect.poll(() => watch.seen).toContain("Watching for changes");
  return watch;
}

/** Runs the command in its own process until it ends: for what depends on that, such as signals, proxies or a pipe. */
export async function runProcess(cwd: string, args: readonly string[], options?: CommandOptions): Promise<CommandRun> {
  const { exitCode, stdout, stderr } = await startCommand(cwd, args, options);
  return runOf(exitCode, Buffer.from(stdout), Buffer.from(stderr));
}

function runOf(exitCode: number | undefined, bytes: Buffer, stderr: Buffer) {
  return { exitCode, stdout: bytes.toString("utf8"), stderr: stderr.toString("utf8"), bytes };
}

let lastRun: Promise<unknown> = Promise.resolve();

/**
 * Runs the command in this process until it ends, one run after the other, with the folder, environment and streams of
 * its own that a process would have: to start a process takes ten times as long.
 */
export function runCommand(
  cwd: string,
  args: readonly string[],
  options: Omit<CommandOptions, "program"> = {},
): Promise<CommandRun> {
  const run = lastRun.then(() => runHere(cwd, args, options));
  lastRun = run.catch(() => {});
  return run;
}

async function runHere(cwd: string, args: readonly string[], { env, input }: CommandOptions): Promise<CommandRun> {
  const { runProgram } = await import("../../../clients/command-line/program.ts");
  const [stdout, stderr] = [new Collected(), new Collected()];
  const streams = { stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]), stdout, stderr };
  const before = { folder: process.cwd(), env: { ...process.env }, exitCode: process.exitCode };
  const ownStreams = Object.keys(streams).map(
    (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
  );
  try {
    process.chdir(cwd);
    replaceEnvironment(commandEnvironment(cwd, env));
    process.exitCode = undefined;
    for (const [name, value] of Object.entries(streams))
      Object.defineProperty(process, name, { value, configurable: true });
    await runProgram(args);
    return runOf(Number(process.exitCode ?? 0), stdout.bytes(), stderr.bytes());
  } finally {
    for (const [name, descriptor] of ownStreams) if (descriptor) Object.defineProperty(process, name, descriptor);
    process.exitCode = before.exitCode;
    replaceEnvironment(before.env);
    process.chdir(before.folder);
  }
}

function replaceEnvironment(env: Environment): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

const LIMIT_SECONDS = 3600;

/** A `--timeout` of a command in this process that passes when the test says so, whatever the load of the machine. */
export function makeTimeout() {
  let limit = new AbortController();
  const start = AbortSignal.timeout.bind(AbortSignal);
  const spy = vi.spyOn(AbortSignal, "timeout").mockImplementation((milliseconds) => {
    if (milliseconds !== LIMIT_SECONDS * 1000) return start(milliseconds);
    limit = new AbortController();
    return limit.signal;
  });
  onTestFinished(() => spy.mockRestore());
  return { args: ["--timeout", String(LIMIT_SECONDS)], pass: () => limit.abort() };
}

/** The waits before another attempt of a command in this process, without their random parts: as short as a test needs. */
export function shortenWaits(more: readonly (readonly [milliseconds: number, instead: number])[] = []): void {
  const waits = [500, 1000, 2000, 4000, 8000].map((milliseconds) => [milliseconds, milliseconds / 100] as const);
  shortenTimers([...waits, ...more]);
  const spy = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => spy.mockRestore());
}

/** The same, and how long it waits for a silent service, with its notice. */
export function shortenSilence(): void {
  shortenWaits([
    [20_000, 50],
    [60_000, 100],
    [300_000, 100],
  ]);
}

function shortenTimers(durations: readonly (readonly [milliseconds: number, instead: number])[]): void {
  const shorter = new Map(durations);
  const start = globalThis.setTimeout;
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(
    Object.assign(
      // Those of Node's `fetch` have more parameters.
      (callback: (...more: unknown[]) => void, milliseconds = 0, ...more: unknown[]) =>
        start(callback, (more.length === 0 ? shorter.get(milliseconds) : undefined) ?? milliseconds, ...more),
      { __promisify__: start.__promisify__ },
    ),
  );
  onTestFinished(() => spy.mockRestore());
}

/** Runs the command in a pseudo terminal, by script(1) of util-linux. */
export async function runInTerminal(cwd: string, args: readonly string[], env: Environment = {}) {
  const quoted = shellCommand(process.execPath, PROGRAM, ...args);
  const { exitCode, stdout } = await execa("script", ["-qefc", quoted, "/dev/null"], {
    cwd,
    env: { ...commandEnvironment(cwd, env), TERM: "xterm", SHELL: "/bin/sh" },
    extendEnv: false,
    reject: false,
    stdin: "pipe",
    // A loop of escape sequences would fill the memory.
    maxBuffer: 1_000_000,
  });
  return { exitCode, screen: stdout };
}

/** Writes a project into a folder of its own, and runs the command there with a service. */
export function runnerInProjects(serviceUrl: () => string) {
  return async (files: ProjectFiles, args: readonly string[], options: CommandOptions = {}) => {
    const folder = await makeProject(files);
    const run = await runCommand(folder, args, { ...options, env: { SERVICE_URL: serviceUrl(), ...options.env } });
    return { folder, ...run };
  };
}

export type ProjectFiles = Readonly<Record<string, string | Uint8Array>>;

export async function makeProject(files: ProjectFiles): Promise<string> {
  const folder = await makeTemporaryFolder("command-");
  await writeProject(folder, files);
  return folder;
}

/** At once: some projects have 20,000 files, each of which would wait for a thread. */
export async function writeProject(folder: string, files: ProjectFiles): Promise<void> {
  const folders = new Set<string>();
  for (const [name, content] of Object.entries(files)) {
    const place = dirname(join(folder, name));
    if (!folders.has(place)) mkdirSync(place, { recursive: true });
    folders.add(place);
    writeFileSync(join(folder, name), content);
  }
}
