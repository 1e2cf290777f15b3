/** `schema`: drafts a `data.schema.json` from existing data. */
import { dirname, resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { draftSchema } from "../../data-schema/draft-schema.ts";
import { readingInWords, readRows } from "../each/rows.ts";
import { readInput } from "../files/folder.ts";
import { DELIMITER_OPTION } from "../options.ts";
import { CSV_NAME, JSON_LINES_NAME, requireJson } from "../project/request.ts";
import { printable, printableLine, say } from "../terminal.ts";

export function addSchemaCommand(program: Command): void {
  program
    .command("schema")
    .summary("draft a JSON Schema from data")
    .description(
      "Prints a JSON Schema that all of the given data fits, to be saved as data.schema.json beside the template and completed by hand. Members present in all of the data are required; members that occur in none of it are not allowed.",
    )
    .argument(
      "<data...>",
      "JSON files; each line of a .jsonl file and each row of a .csv file is the data of one document",
    )
    .addOption(DELIMITER_OPTION)
    .action(async (paths, { delimiter }) => {
      const values = (await Promise.all(paths.map((path) => readValues(path, delimiter)))).flat();
      process.stdout.write(`${printable(JSON.stringify(draftSchema(values), null, 2))}\n`);
    });
}

async function readValues(path: string, delimiter: string | undefined): Promise<unknown[]> {
  const { bytes, shown } = await readInput(path, path, dirname(resolve(path)));
  if (!CSV_NAME.test(path) && !JSON_LINES_NAME.test(path)) return [JSON.parse(requireJson(bytes, shown))];
  const { rows, ...read } = readRows(bytes, shown, delimiter);
  const reading = readingInWords(shown, { rows, ...read });
  if (reading !== null) say(printableLine(`${reading}. Values of CSV are text, so all are strings.`));
  return rows.map(({ data, line }) => JSON.parse(requireJson(Buffer.from(data), shown, line)));
}
