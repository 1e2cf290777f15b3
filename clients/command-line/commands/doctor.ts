/** `doctor`: examines a deployment from outside (docs/doctor.md). */
import { type Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { normaliseUrl } from "../../typescript/transport.ts";
import type { ExaminationTarget, NamedUrl } from "../doctor/check.ts";
import { isHealthy, reportForPrograms, startTable, summaryInWords } from "../doctor/report.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { runInterruptible } from "../interruption.ts";
import { JSON_OPTION, secondsUpTo, TOKEN_FILE_OPTION, URL_OPTION } from "../options.ts";
import { writeJson } from "../report.ts";
import { locateService, tokenFrom } from "../service-location.ts";

/** Longer than a render may wait and take in a deployment with the default settings. */
const DEFAULT_TIMEOUT_SECONDS = 60;
const MAX_TIMEOUT_SECONDS = 300;
const MAX_ORIGINS = 16;

function defineDoctorCommand(program: Command) {
  return program
    .command("doctor")
    .summary("examine a deployment from outside")
    .description("Examines a deployment from outside: what works, what does not, the likely cause and what to do.")
    .argument("[url]", "the service, as in --url")
    .addOption(URL_OPTION)
    .addOption(TOKEN_FILE_OPTION)
    .option("--origin <name=url>", "a backend to check directly; may be repeated", addOrigin)
    .option("--backend-token-file <file>", "a file that holds the backend token; by default $SERVICE_BACKEND_TOKEN")
    .option(
      "--metrics-token-file <file>",
      "a file that holds the token of /metrics, if it needs one; by default $SERVICE_METRICS_TOKEN",
    )
    .option(
      "--timeout <seconds>",
      "how long one request may take",
      secondsUpTo(MAX_TIMEOUT_SECONDS),
      DEFAULT_TIMEOUT_SECONDS,
    )
    .option("--quiet", "show only warnings and failures")
    .addOption(JSON_OPTION);
}

export function addDoctorCommand(program: Command, signal: AbortSignal): void {
  defineDoctorCommand(program).action(async (url, flags) => {
    if (url !== undefined && flags.url !== undefined) throw new CommandError("Give the URL once.");
    const target = await targetOf(url ?? flags.url, flags);
    const { examine } = await import("../doctor/runner.ts");
    const isQuiet = flags.quiet === true;
    const say = (text: string) => {
      if (!flags.json && !isQuiet) process.stdout.write(`${text}\n`);
    };
    say(`${target.url}: one request at a time, each at most ${flags.timeout} s`);
    const onResult = flags.json ? () => {} : startTable(isQuiet);
    const requestMilliseconds = flags.timeout * 1000;
    const report = await runInterruptible(() => examine(target, { requestMilliseconds, signal, onResult }));
    if (flags.json) writeJson(reportForPrograms(target.url.href, report));
    say(`\n${summaryInWords(report)}`);
    process.exitCode = isHealthy(report.checks) ? EXIT_CODES.success : EXIT_CODES.failure;
  });
}

type DoctorFlags = ReturnType<ReturnType<typeof defineDoctorCommand>["opts"]>;

async function targetOf(address: string | undefined, options: DoctorFlags): Promise<ExaminationTarget> {
  const { url, token } = await locateService({ ...options, url: address });
  const backendToken = await secretFrom(options.backendTokenFile, process.env.SERVICE_BACKEND_TOKEN);
  const metricsToken = await secretFrom(options.metricsTokenFile, process.env.SERVICE_METRICS_TOKEN);
  if (![token, backendToken, metricsToken].every((text) => /^[!-~]*$/.test(text))) {
    throw new CommandError("A token in the environment contains something other than visible ASCII.");
  }
  return { url: normaliseUrl(url), token, backendToken, metricsToken, origins: options.origin ?? [] };
}

/** A file comes first, then the environment; empty if there is neither. */
function secretFrom(file: string | undefined, inEnvironment = ""): string | Promise<string> {
  return file === undefined ? inEnvironment.trim() : tokenFrom(file);
}

function addOrigin(value: string, previous: readonly NamedUrl[] | undefined): readonly NamedUrl[] {
  const [, name, address] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.+)$/.exec(value) ?? [];
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : null;
  const origins = previous ?? [];
  if (name === undefined || url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("It must be a name and a URL, such as a=http://10.0.0.2:8788.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidArgumentError("The URL must not contain a user name or password.");
  }
  if (origins.some((origin) => origin.name === name)) throw new InvalidArgumentError(`${name} is named twice.`);
  if (origins.length >= MAX_ORIGINS) throw new InvalidArgumentError(`At most ${MAX_ORIGINS} origins.`);
  return [...origins, { name, url: normaliseUrl(url.href) }];
}
