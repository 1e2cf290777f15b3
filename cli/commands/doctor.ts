/**
 * `doctor`: what works between this machine and the service, step by step.
 */
import { styleText } from "node:util";
import type { Command } from "@commander-js/extra-typings";
import type { OutputOptions } from "../../client/client.ts";
import { runVectors } from "../../rules/client.ts";
import { publishedLimits } from "../../rules/limits.ts";
import { CommandError, EXIT_CODES, type ExitCode, exitCodeOf } from "../exit-codes.ts";
import { findTypst } from "../local/typst.ts";
import { TOKEN_FILE_OPTION, TYPST_OPTION, URL_OPTION } from "../options.ts";
import { asCommandError, openService, type Service } from "../service.ts";
import { locateService } from "../service-location.ts";
import { sizeInWords } from "../terminal.ts";

interface Finding {
  readonly exitCode: ExitCode;
  readonly text: string;
}

interface Step {
  readonly title: string;
  /** Whether the steps after it make no sense without it. */
  readonly isNeeded: boolean;
  perform(): Promise<Finding>;
}

const FORMATS = [
  { format: "pdf" },
  { format: "png", ppi: 72 },
  { format: "svg" },
  { format: "png", ppi: 72, archive: "zip" },
] as const satisfies readonly OutputOptions[];

const fine = (text: string): Finding => ({ exitCode: EXIT_CODES.success, text });

export function addDoctorCommand(program: Command, signal: AbortSignal): void {
  program
    .command("doctor")
    .description(
      "Looks whether the service can be reached, takes the token, agrees on the rules and renders each format.",
    )
    .addOption(URL_OPTION)
    .addOption(TOKEN_FILE_OPTION)
    .addOption(TYPST_OPTION)
    .action(async (flags) => {
      const { url } = await locateService(flags);
      process.stdout.write(`${url}\n`);
      let exitCode: ExitCode = EXIT_CODES.success;
      for (const step of [
        { title: "reachable", isNeeded: true, perform: () => reach(url, signal) },
        ...(await serviceSteps(() => openService(flags), signal)),
        { title: "Typst for check", isNeeded: false, perform: async () => fine(await findTypst(flags.typst)) },
      ] satisfies Step[]) {
        const finding = await find(step, url);
        const isFine = finding.exitCode === EXIT_CODES.success;
        const mark = isFine ? styleText("green", "ok  ") : styleText("red", "FAIL");
        process.stdout.write(`${mark} ${step.title}: ${finding.text}\n`);
        if (!isFine && exitCode === EXIT_CODES.success) exitCode = finding.exitCode;
        if (!isFine && step.isNeeded) break;
      }
      process.exitCode = exitCode;
    });
}

async function find(step: Step, url: string): Promise<Finding> {
  try {
    return await step.perform();
  } catch (error) {
    const known = asCommandError(error, url);
    if (known instanceof CommandError) return { exitCode: known.exitCode, text: known.message };
    throw error;
  }
}

/** `/health` needs no token, so that a wrong token and a wrong address are told apart. */
async function reach(url: string, signal: AbortSignal): Promise<Finding> {
  const base = url.endsWith("/") ? url : `${url}/`;
  const answer = await fetch(new URL("health", base), { signal, redirect: "manual" }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error instanceof TypeError ? new CommandError("nothing answers", EXIT_CODES.unreachable) : error;
  });
  await answer.body?.cancel();
  if (answer.ok) return fine(`/health answers ${answer.status}`);
  return { exitCode: EXIT_CODES.unreachable, text: `/health answers ${answer.status}: is this the service?` };
}

async function serviceSteps(openOnce: () => Promise<Service>, signal: AbortSignal): Promise<Step[]> {
  let opened: Promise<Service> | null = null;
  const service = () => {
    opened ??= openOnce();
    return opened;
  };
  const constraints = async () => {
    const { client } = await service();
    const result = await client.constraints({ signal });
    if (result.ok) return result.constraints;
    throw new CommandError(result.problem.detail, exitCodeOf(result.problem));
  };
  return [
    {
      title: "token and limits",
      isNeeded: true,
      perform: async () => {
        const limits = publishedLimits((await constraints()).limits);
        return fine(
          `accepted; requests up to ${sizeInWords(limits.max_request_body_bytes)}, ${limits.effective_max_files} files`,
        );
      },
    },
    {
      title: "rules",
      isNeeded: false,
      perform: async () => {
        const published = await constraints();
        const count = published.conformance_vectors.length + published.output_rules.conformance_vectors.length;
        const wrong = runVectors(published).length;
        if (wrong === 0) return fine(`all ${count} vectors agree`);
        return { exitCode: EXIT_CODES.failure, text: `${wrong} of ${count} vectors disagree: update this program` };
      },
    },
    ...FORMATS.map((output) => ({
      title: `render ${"archive" in output ? "zip" : output.format}`,
      isNeeded: false,
      perform: async () => {
        const start = performance.now();
        const { client } = await service();
        const result = await client.render({ source: "= #data.title", data: { title: "Doctor" }, output }, { signal });
        if (!result.ok)
          return { exitCode: exitCodeOf(result.problem), text: `${result.problem.code}: ${result.problem.detail}` };
        const bytes = await result.bytes();
        return fine(`${sizeInWords(bytes.length)} in ${Math.round(performance.now() - start)} ms`);
      },
    })),
  ];
}
