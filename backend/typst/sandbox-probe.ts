/**
 * The probe of the sandbox: at start, Typst itself tries to read a file of the host, write one and open a socket.
 *
 * Typst follows symbolic links, writes where its command line says and fetches packages by itself. So without a sandbox
 * each attempt succeeds, and with one each must fail. A backend must not serve if the probe gets out, or if Typst does
 * not run in the sandbox at all.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileArguments, proxyVariables } from "../../typst/command-line.ts";
import type { Launcher } from "../launcher/launcher.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { DISCARD_OUTPUT, TypstProcess } from "./process.ts";

export interface ProbeReport {
  readonly compiles: boolean;
  readonly escapes: readonly Escape[];
}

export type Escape = "reads a file of the host" | "writes outside of its output" | "opens a socket";

const ATTEMPT_TIMEOUT_MILLISECONDS = 20_000;
const SECRET = "a secret of the host";

export async function probeSandbox(
  settings: BackendSettings,
  sandbox: Sandbox,
  launcher: Launcher,
): Promise<ProbeReport> {
  const prober = { settings, sandbox, launcher };
  const host = await mkdtemp(join(tmpdir(), "document-rendering-probe-"));
  try {
    const secretPath = join(host, "secret.txt");
    await writeFile(secretPath, SECRET);
    const compiles = await attempt(prober, { source: "= Hello" });
    const reads = await attempt(prober, {
      // Only reading the right text is an escape. The sandbox may show an empty file instead.
      source: `#assert.eq(read("link.txt"), "${SECRET}")`,
      linkTo: secretPath,
    });
    const writtenPath = join(host, "written.pdf");
    await attempt(prober, { source: "= Hello", outputPath: writtenPath });
    const escapes: Escape[] = [];
    if (reads) escapes.push("reads a file of the host");
    if (existsSync(writtenPath)) escapes.push("writes outside of its output");
    if (await connectsToHost(prober)) escapes.push("opens a socket");
    return { compiles, escapes };
  } finally {
    await rm(host, { recursive: true, force: true });
  }
}

type Prober = Readonly<{ settings: BackendSettings; sandbox: Sandbox; launcher: Launcher }>;

interface Attempt {
  readonly source: string;
  /** The target of a symbolic link `link.txt` among the files of the render. */
  readonly linkTo?: string;
  readonly outputPath?: string;
  readonly proxyUrl?: string;
}

async function attempt({ settings, sandbox, launcher }: Prober, task: Attempt): Promise<boolean> {
  const renderDirectory = await RenderDirectory.create(settings.workDirectory, false);
  try {
    if (task.linkTo !== undefined) await symlink(task.linkTo, join(renderDirectory.root, "link.txt"));
    const view = sandbox.view(renderDirectory);
    const typstArguments = compileArguments(settings, view, ["--format", "pdf"], task.outputPath ?? "-");
    const variables = task.proxyUrl === undefined ? {} : proxyVariables(task.proxyUrl);
    const command = sandbox.programCommand(renderDirectory, typstArguments, variables);
    const maxOutputBytes = settings.limits.max_output_bytes;
    const process = new TypstProcess({ launcher, sandbox, command, maxOutputBytes, textFifo: null });
    const { end } = await process.perform({
      input: [Buffer.from(task.source)],
      timeoutMilliseconds: ATTEMPT_TIMEOUT_MILLISECONDS,
      signal: new AbortController().signal,
      output: DISCARD_OUTPUT,
      files: null,
    });
    return end.kind === "exited" && end.exitCode === 0;
  } finally {
    await renderDirectory.remove();
  }
}

/** Whether a package import reaches a listener of the host. */
async function connectsToHost(prober: Prober): Promise<boolean> {
  let wasReached = false;
  const listener = createServer((socket) => {
    wasReached = true;
    socket.destroy();
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const address = listener.address();
  try {
    if (address === null || typeof address === "string") throw new Error("the loopback interface has no port");
    await attempt(prober, { source: '#import "@preview/probe:0.1.0"', proxyUrl: `http://127.0.0.1:${address.port}` });
    return wasReached;
  } finally {
    listener.close();
  }
}
