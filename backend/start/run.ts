/**
 * Runs the backend until a stop signal. What prevents its work ends it with a line on standard error and code 1.
 */
import { setTimeout as delay } from "node:timers/promises";
import { LogOutput } from "../../protocol/node/log-output.ts";
import { SettingError } from "../../rules/settings.ts";
import { TYPST_VERSION, typstProblem } from "../../typst/typst-release.mjs";
import { chooseSandbox } from "../compiler/choose-sandbox.ts";
import { errorCode } from "../error-log.ts";
import { buildRenderService, type RenderService } from "../http/app.ts";
import { Launcher } from "../launcher/launcher.ts";
import type { OtlpTracing } from "../observe/otlp-tracing.ts";
import { findEmptyNetwork } from "../sandbox/bubblewrap.ts";
import { type BackendSettings, readBackendSettings } from "../settings.ts";
import { prepareWorkDirectory } from "../work-directory/claim.ts";
import { LAST_STEP } from "./last-step.ts";
import { exitCodeAfter, type StopSignal } from "./stop-signal.ts";
import { reportToWatchdog } from "./watchdog.ts";

const IDLE_POLL_MILLISECONDS = 20;
/** How long connections may take to close once no render is left. */
const CLOSE_MILLISECONDS = 2000;

/** Reports dropped log lines in the form of pino's lines. */
const LOG_OUTPUT = new LogOutput(process.stdout, (lines) =>
  JSON.stringify({ level: 40, time: Date.now(), pid: process.pid, lines, msg: "log lines were dropped" }),
);

let isStopping = false;

type OnStopSignal = (handler: (signal: StopSignal) => void) => void;

/** Tells `npm start` how far it has come. If that has been killed, "disconnect" says so. */
function announceStep(step: string): void {
  process.send?.(step, undefined, undefined, () => {});
}

export async function run(onStopSignal: OnStopSignal): Promise<void> {
  reportToWatchdog(process.env);
  try {
    await start(onStopSignal);
  } catch (error) {
    process.stderr.write(`${startUpMessage(error)}\n`);
    process.exit(1);
  }
}

async function start(onStopSignal: OnStopSignal): Promise<void> {
  const settings = readBackendSettings(process.env);
  announceStep("asking Typst for its version");
  await expectTypst(settings);
  announceStep("preparing its work directory");
  const claim = await prepareWorkDirectory(settings.workDirectory);
  onStopSignal((signal) => {
    claim.abandon();
    process.exit(exitCodeAfter(signal));
  });
  const emptyNetwork = await findEmptyNetwork(settings);
  // Before anything is made in a directory that is another's by now.
  await claim.expectHeld();
  const launcher = new Launcher(settings, { emptyNetwork });
  const release = async () => {
    // If our directory was removed, another backend may own that path. The launcher ends with this process.
    if (!claim.isHeld()) return;
    // Releasing the claim empties the directory, so everything that writes there must have ended.
    await launcher.close();
    await claim.release();
  };
  try {
    announceStep("trying the sandbox");
    const { sandbox, message } = await chooseSandbox(settings, launcher);
    const tracing = await openTracing(settings, (text) => say(backend, "warn", text));
    const backend = buildRenderService({
      ...{ settings, sandbox, launcher, tracing, logOutput: LOG_OUTPUT },
      followsCrash: claim.followsCrash,
    });
    if (message !== null) say(backend, "warn", message);
    // From here on, the backend watches the claim that is there now.
    await claim.expectHeld();
    announceStep("reading fonts and packages");
    await backend.findCapabilities();
    announceStep(LAST_STEP);
    await backend.app.listen({ host: settings.host, port: settings.port });
    const { app } = backend;
    app.log.info({ sandbox: sandbox.mode, slots: settings.maxConcurrentRenders }, "backend serves");
    const announceAndFinish = async () => {
      const { drainDelaySeconds } = settings;
      if (drainDelaySeconds > 0) {
        backend.announceStop();
        app.log.info({ drainDelaySeconds, renders: backend.underWay() }, "backend drains: /ready says 503");
        await delay(drainDelaySeconds * 1000);
      }
      await finish(backend, settings, release, { reason: "SIGTERM", exitCode: 0 });
    };
    const stopAtOnce = (signal: StopSignal) =>
      finish(backend, settings, release, { reason: signal, exitCode: exitCodeAfter(signal) });
    // A person who presses Ctrl-C does not wait for the drain delay.
    onStopSignal((signal) => void (signal === "SIGTERM" ? announceAndFinish() : stopAtOnce(signal)));
    void backend.workDirectoryLost.then((name) => {
      const where = `the work directory ${settings.workDirectory}`;
      say(backend, "error", `"${name}" is missing from ${where}: the backend stops. Start it again.`);
      void finish(backend, settings, release, { reason: "work directory lost", exitCode: 1 });
    });
  } catch (error) {
    await release();
    throw error;
  }
}

/** To the program that has started the backend for a person, such as `npm start`: in words. Otherwise to the log. */
function say({ app }: RenderService, level: "warn" | "error", text: string): void {
  if (process.send !== undefined) process.stderr.write(`${text}\n`);
  else app.log[level](text);
}

/** @param end the code is used if all renders finish within the grace time; otherwise it is 1. */
async function finish(
  backend: RenderService,
  settings: BackendSettings,
  release: () => Promise<void>,
  { reason, exitCode }: { readonly reason: string; readonly exitCode: number },
): Promise<void> {
  if (isStopping) return;
  isStopping = true;
  backend.refuseRenders();
  const { log } = backend.app;
  log.info({ reason, renders: backend.underWay(), graceSeconds: settings.graceSeconds }, "backend stops");
  const deadline = performance.now() + settings.graceSeconds * 1000;
  // Meanwhile the backend still answers: 503 on `/ready` and for new renders.
  while (backend.underWay() > 0 && performance.now() < deadline) await delay(IDLE_POLL_MILLISECONDS);
  const lostRenders = backend.underWay();
  const isClosed = await Promise.race([
    backend.app.close().then(() => true),
    // If idle, all answers are delivered: the connections that are left have sent no complete request.
    delay(CLOSE_MILLISECONDS, backend.underWay() === 0, { ref: false }),
  ]);
  const isReleased = await release().then(
    () => true,
    (error: unknown) => {
      // The next backend empties it, or says that it cannot.
      say(backend, "error", `The work directory ${settings.workDirectory} cannot be emptied: ${errorCode(error)}.`);
      return false;
    },
  );
  const finalCode = isClosed && isReleased ? exitCode : 1;
  log.info({ reason, lostRenders, exitCode: finalCode }, "backend has stopped");
  await LOG_OUTPUT.end();
  process.exit(finalCode);
}

/** The SDK takes 8 MB, which a backend without a collector does not spend. */
async function openTracing({ tracesUrl }: BackendSettings, warn: (text: string) => void): Promise<OtlpTracing | null> {
  if (tracesUrl === null) return null;
  const { OtlpTracing } = await import("../observe/otlp-tracing.ts");
  return new OtlpTracing(tracesUrl, warn);
}

async function expectTypst({ typstPath }: BackendSettings): Promise<void> {
  const problem = await typstProblem(typstPath, {});
  if (problem === undefined) return;
  throw new SettingError(`Typst ${TYPST_VERSION} is needed: ${problem}. Set SERVICE_TYPST_BIN.`);
}

function startUpMessage(error: unknown): string {
  if (error instanceof SettingError) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "EADDRINUSE") return `The port is in use: ${error.message}. Set SERVICE_PORT.`;
  return `The backend cannot start: ${error.message}`;
}
