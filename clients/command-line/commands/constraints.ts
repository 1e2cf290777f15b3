/** `constraints`: prints the limits of the deployment, or with `--json` the whole constraints document. */
import type { Command } from "@commander-js/extra-typings";
import { LIMIT_SETTINGS } from "../../../rules/limits.ts";
import { EXIT_CODES } from "../exit-codes.ts";
import { runInterruptible } from "../interruption.ts";
import { JSON_OPTION, TOKEN_FILE_OPTION, URL_OPTION, VERBOSE_OPTION } from "../options.ts";
import { reportProblem, writeJson } from "../report.ts";
import { failAsCommand, openService } from "../service.ts";
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
      const result = await runInterruptible(() => client.constraints({ signal })).catch(failAsCommand(url));
      if (!result.ok) {
        const rejected = { problem: result.problem, checkedLocally: false };
        process.exitCode = reportProblem(rejected, detailsOf(result.problem), flags.json ? process.stdout : null);
        return;
      }
      const { constraints } = result;
      process.exitCode = EXIT_CODES.success;
      if (flags.json) {
        writeJson(constraints);
        return;
      }
      for (const [name, value] of Object.entries(constraints.limits)) {
        const unit = Object.entries(LIMIT_SETTINGS).find(([known]) => known === name)?.[1].unit ?? "";
        process.stdout.write(`${printableLine(name).padEnd(32)} ${value.toLocaleString("en").padStart(14)} ${unit}\n`);
      }
      const { rules_version, output_rules } = constraints;
      process.stdout.write(`\nrules ${rules_version}, output rules ${output_rules.output_rules_version}\n`);
    });
}
