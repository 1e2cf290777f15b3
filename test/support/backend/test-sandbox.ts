/** A sandbox for a test, without a backend, to observe Typst inside it from the host. */
import { format } from "node:util";
import { inject, onTestFinished } from "vitest";
import { openSandbox } from "../../../backend/compiler/choose-sandbox.ts";
import { Launcher } from "../../../backend/launcher/launcher.ts";
import { findEmptyNetwork } from "../../../backend/sandbox/bubblewrap.ts";
import type { SandboxMode } from "../../../backend/sandbox/sandbox.ts";
import { type BackendSettings, readBackendSettings } from "../../../backend/settings.ts";
import { prepareWorkDirectory } from "../../../backend/work-directory/claim.ts";
import type { Output } from "../../../rules/output-options.ts";
import { makeTemporaryFolder } from "../temporary-folder.ts";
import { typstPath } from "./typst-path.ts";

export type TestSandbox = Awaited<ReturnType<typeof openTestSandbox>>;

/** An output that Typst writes to its standard output. */
export const PDF: Output = { format: "pdf", filename: null, version: null, standards: [], pages: null };
/** An output of several files. */
export const PAGES: Output = { format: "svg", filename: null, archive: "zip", page: null, pages: null };

/** Looked for once with the same programs, because each search starts three of them. */
const found = new Map<string, Promise<readonly string[]>>();

export function emptyNetworkFor(settings: BackendSettings): Promise<readonly string[]> {
  const key = JSON.stringify([settings.sandboxChoice, settings.unsharePath, settings.bubblewrapPath]);
  const network = found.get(key) ?? findEmptyNetwork(settings);
  found.set(key, network);
  return network;
}

/** Opens a sandbox in a work directory that is removed when the test has finished. */
export async function openTestSandbox(mode: SandboxMode, environment: Readonly<Record<string, string>> = {}) {
  const workDirectory = await makeTemporaryFolder("sandbox-test-");
  const settings = readBackendSettings({
    PATH: process.env.PATH,
    SERVICE_BUBBLEWRAP_BIN: inject("bubblewrapPath"),
    SERVICE_TYPST_BIN: typstPath(),
    SERVICE_SETPRIV_BIN: inject("setprivPath") ?? undefined,
    SERVICE_WORK_DIRECTORY: workDirectory,
    SERVICE_SANDBOX: mode,
    ...environment,
  });
  const claim = await prepareWorkDirectory(settings.workDirectory);
  const launcher = new Launcher(settings, { emptyNetwork: await emptyNetworkFor(settings) });
  onTestFinished(async () => {
    await launcher.close();
    await claim.release();
  });
  return { settings, sandbox: await openSandbox(settings, mode, launcher), launcher };
}

/**
 * What the name of a test that needs Landlock ends with: why it is skipped on this machine, or nothing if it is not.
 * `npm run test:attacks` fetches what it needs.
 */
export const landlockNote =
  inject("setprivPath") === null
    ? " [skipped: no setpriv of util-linux 2.41 or newer; npm run test:attacks fetches one]"
    : "";

/** A mode, and what else distinguishes a case. */
type SandboxCase = readonly [mode: SandboxMode, ...values: string[]];

export const SANDBOXES: readonly SandboxCase[] = [["bubblewrap"], ["landlock"]];
/** The sandboxes, and none. */
export const MODES: readonly SandboxCase[] = [...SANDBOXES, ["none"]];

/**
 * Like `it.each` or `describe.each`, but where Landlock cannot be tested, its cases are skipped, and their names say
 * why.
 *
 * @param define `it` or `describe`.
 */
export const eachSandbox =
  <Case extends SandboxCase>(
    define: { skipIf(condition: boolean): (name: string, run: () => void | Promise<void>) => unknown },
    cases: readonly Case[],
  ) =>
  (name: string, run: (...values: Case) => void | Promise<void>): void => {
    for (const one of cases) {
      const [mode, ...values] = one;
      const note = mode === "landlock" ? landlockNote : "";
      define.skipIf(note !== "")(format(name, `${mode}${note}`, ...values), () => run(...one));
    }
  };
