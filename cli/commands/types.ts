/**
 * `types`: TypeScript types of the data of a template, from its `data.schema.json`.
 */
import { join } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { typescriptOf } from "../../data-schema/typescript.ts";
import { readSchemaFile } from "../project/data-schema.ts";
import { isFolder } from "../project/folder.ts";
import { printable } from "../terminal.ts";

export function addTypesCommand(program: Command): void {
  program
    .command("types")
    .summary("print TypeScript types of a template's data")
    .description(`Prints TypeScript types of the data that the ${SCHEMA_FILE} of a template describes.`)
    .argument("<source>", "a schema, or a folder that has one")
    .action(async (source) => {
      const path = (await isFolder(source)) ? join(source, SCHEMA_FILE) : source;
      const { value } = await readSchemaFile(path);
      process.stdout.write(printable(typescriptOf(value)));
    });
}
