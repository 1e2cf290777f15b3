/**
 * `vectors`: runs the conformance vectors that a deployment publishes through the rules of this version.
 */
import type { Command } from "@commander-js/extra-typings";
import { runVectors } from "../../rules/published-rules.ts";
import { CommandError, EXIT_CODES, exitCodeOf } from "../exit-codes.ts";
import { TOKEN_FILE_OPTION, URL_OPTION } from "../options.ts";
import { problemInWords, writeJson } from "../report.ts";
import { asCommandError, openService } from "../service.ts";

export function addVectorsCommand(program: Command, signal: AbortSignal): void {
  program
    .command("vectors")
    .summary("compare this version's rules with the service's")
    .description(
      "Compares the rules of this version with those of the service, using the conformance vectors that it publishes.",
    )
    .addOption(URL_OPTION)
    .addOption(TOKEN_FILE_OPTION)
    .action(async (flags) => {
      const { client, url, detailsOf } = await openService(flags);
      const result = await client.constraints({ signal }).catch((error: unknown) => {
        throw asCommandError(error, url);
      });
      if (!result.ok) {
        const text = problemInWords(result.problem, false, detailsOf(result.problem));
        throw new CommandError(text, exitCodeOf(result.problem));
      }
      const { constraints } = result;
      const count = constraints.conformance_vectors.length + constraints.output_rules.conformance_vectors.length;
      const disagreements = runVectors(constraints);
      for (const disagreement of disagreements) writeJson(disagreement);
      process.stdout.write(`${count - disagreements.length} of ${count} vectors agree\n`);
      process.exitCode = disagreements.length === 0 ? EXIT_CODES.success : EXIT_CODES.failure;
    });
}
