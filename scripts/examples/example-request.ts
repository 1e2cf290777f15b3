/**
 * Makes requests of the examples: `request.json` of a folder, with its markers replaced by files.
 *
 * `{"$file": path}` becomes the text of the file, `{"$textFile": path}` and `{"$base64File": path}` an entry of
 * `files`, and `{"$jsonFile": path}` the JSON text of the file, unchanged, so that no number is rounded.
 */
import { readFile } from "node:fs/promises";

const EXAMPLES = new URL("../../examples/", import.meta.url);

export async function exampleRequest(name: string): Promise<string> {
  const folder = new URL(`${name}/`, EXAMPLES);
  return serialize(JSON.parse(await readFile(new URL("request.json", folder), "utf8")), folder);
}

async function serialize(value: unknown, folder: URL): Promise<string> {
  if (Array.isArray(value)) {
    return `[${(await Promise.all(value.map((item) => serialize(item, folder)))).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const marker = Object.entries(value).find(([key]) => key.startsWith("$"));
  if (marker !== undefined) return readMarked(marker[0], String(marker[1]), folder);
  const members = Object.entries(value).map(
    async ([key, member]) => `${JSON.stringify(key)}:${await serialize(member, folder)}`,
  );
  return `{${(await Promise.all(members)).join(",")}}`;
}

async function readMarked(marker: string, path: string, folder: URL): Promise<string> {
  const bytes = await readFile(new URL(path, folder));
  const text = bytes.toString("utf8");
  if (marker === "$file") return JSON.stringify(text);
  if (marker === "$textFile") return JSON.stringify({ encoding: "text", content: text });
  if (marker === "$base64File") return JSON.stringify({ encoding: "base64", content: bytes.toString("base64") });
  if (marker === "$jsonFile") return text.trim();
  throw new Error(`unknown marker ${marker}`);
}
