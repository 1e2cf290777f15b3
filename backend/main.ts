/**
 * The backend as a program: reads its settings, listens, and on SIGTERM or SIGINT drains and ends.
 *
 * A setting that cannot be used, a missing Typst or a port in use is one line on standard error and exit code 1.
 */
import { setTimeout as delay } from "node:timers/promises";
import { SettingError } from "../rules/integer-setting.ts";
import { buildBackend } from "./app.ts";
import { readBackendSettings } from "./settings.ts";
import { readTypstVersion } from "./typst-version.ts";
import { prepareWorkDirectory } from "./work-directory.ts";

/** What a drain may take beyond the longest queue and render. */
const GRACE_MARGIN_SECONDS = 5;

async function main(): Promise<void> {
  const settings = readBackendSettings(process.env);
  const typstVersion = await readTypstVersion(settings);
  await prepareWorkDirectory(settings);
  const { app, startDraining } = buildBackend(settings, typstVersion);
  await app.listen({ host: settings.host, port: settings.port });

  const graceSeconds = settings.queueDeadlineSeconds + settings.renderTimeoutSeconds + GRACE_MARGIN_SECONDS;
  const drain = async () => {
    startDraining();
    const isClosed = await Promise.race([
      app.close().then(() => true),
      delay(graceSeconds * 1000, false, { ref: false }),
    ]);
    process.exit(isClosed ? 0 : 1);
  };
  process.once("SIGTERM", drain);
  process.once("SIGINT", drain);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${startUpMessage(error)}\n`);
  process.exit(1);
}

function startUpMessage(error: unknown): string {
  if (error instanceof SettingError) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "EADDRINUSE") return `The port is in use: ${error.message}. Set SERVICE_PORT.`;
  return `The backend cannot start: ${error.message}`;
}
