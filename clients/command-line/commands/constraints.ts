/**
 * `constraints`: prints the limits of the deployment, or with `--json` the whole constraints document.
 */
import type { Command } from "@commander-js/extra-typings";
import { LIMIT_SETTINGS, type LimitName } from "../../../rules/limits.ts";
import { EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { interruptible } from "../interruption.ts";
import { JSON_OPTION, TOKEN_FILE_OPTION, URL_OPTION, VERBOSE_OPTION } from "../options.ts";
import { problemOutcome, writeJson, writeProblem } from "../report.ts";
import { asCommandError, openService } from "../service.ts";
import { printableLine } from "../terminal.ts";

export function addConstraintsCommand(program: Command, signal: AbortSignal): void {
  program
    .command("constraints")
    .summary("show the limits of the service")
    .description("Shows the limits of the service; with --json the whole document with rules and vectors.")
    .addOption(VERBOSE_OPTION)
    .addOption(URL_OPTION)
    .addOption(TOKEN_FILE_OPTION)
    .addOption(JSON_OPTION)
    .action(async (flags) => {
      const { client, url, detailsOf } = await openService(flags);
      const result = await interruptible(() => client.constraints({ signal })).catch((error: unknown) => {
        throw asCommandError(error, url);
      });
      if (!result.ok) {
        const details = detailsOf(result.problem);
        if (flags.json) writeJson(problemOutcome(result.problem, false, details));
        else writeProblem(result.problem, false, details);
        process.exitCode = exitCodeOf(result.problem);
        return;
      }
      const { constraints } = result;
      process.exitCode = EXIT_CODES.success;
      if (flags.json) {
        writeJson(constraints);
        return;
      }
      const rows = Object.entries(constraints.limits).map(([name, value]) => [
        name,
        value.toLocaleString("en"),
        isLimit(name) ? `${LIMIT_SETTINGS[name].unit}` : "",
      ]);
      const width = Math.max(...rows.map(([name = ""]) => name.length));
      for (const [name = "", value = "", unit = ""] of rows) {
        process.stdout.write(`${printableLine(name).padEnd(width)} ${value.padStart(14)} ${unit}\n`);
      }
      process.stdout.write(
        `\nrules ${constraints.rules_version}, output rules ${constraints.output_rules.output_rules_version}\n`,
      );
    });
}

function isLimit(name: string): name is LimitName {
  return Object.hasOwn(LIMIT_SETTINGS, name);
}
