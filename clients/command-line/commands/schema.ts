/** `schema`: drafts a `data.schema.json` from existing data. */
import { dirname, resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { draftSchema } from "../../data-schema/draft-schema.ts";
import { readNamed, utf8Text } from "../project/folder.ts";
import { JSON_LINES_NAME, requireJson } from "../project/request.ts";
import { printable, printableLine } from "../terminal.ts";

export function addSchemaCommand(program: Command): void {
  program
    .command("schema")
    .summary("draft a JSON Schema from data")
    .description(
      "Prints a JSON Schema that all of the given data fits, to be saved as data.schema.json beside the template and completed by hand. Members present in all of the data are required; members that occur in none of it are not allowed.",
    )
    .argument("<data...>", "JSON files; each line of a .jsonl file is the data of one document")
    .action(async (paths) => {
      const values = (await Promise.all(paths.map(readValues))).flat();
      process.stdout.write(`${printable(JSON.stringify(draftSchema(values), null, 2))}\n`);
    });
}

async function readValues(path: string): Promise<unknown[]> {
  const bytes = await readNamed(path, path, dirname(resolve(path)));
  if (!JSON_LINES_NAME.test(path)) return [JSON.parse(requireJson(bytes, printableLine(path)))];
  const lines = utf8Text(bytes, printableLine(path)).split("\n");
  return lines.flatMap((line, index) =>
    line.trim() === "" ? [] : [JSON.parse(requireJson(Buffer.from(line), printableLine(path), index + 1))],
  );
}
