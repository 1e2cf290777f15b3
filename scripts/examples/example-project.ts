import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { programText } from "../../typst/program-text.ts";
import { exampleRequest } from "./example-request.ts";

/** Writes the files of an example into a directory. `main.typ` is the program text that the backend would compile. */
export async function writeExampleProject(name: string, directory: string): Promise<void> {
  const request: { source: string; files?: Record<string, { encoding: string; content: string }>; data: unknown } =
    JSON.parse(await exampleRequest(name));
  for (const [key, { encoding, content }] of Object.entries(request.files ?? {})) {
    await mkdir(dirname(join(directory, key)), { recursive: true });
    await writeFile(join(directory, key), Buffer.from(content, encoding === "base64" ? "base64" : "utf8"));
  }
  await writeFile(join(directory, ":data.json"), JSON.stringify(request.data ?? {}));
  await writeFile(join(directory, "main.typ"), Buffer.concat(programText(Buffer.from(request.source))));
}
