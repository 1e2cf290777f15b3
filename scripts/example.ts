/**
 * `npm run example -- <name or folder>`: sends an example, or any folder made like one, to the running service and saves
 * the file that it returns below `out/`.
 */
import { access, mkdir, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parse as parseContentDisposition } from "content-disposition";
import { exampleNames, exampleRequest, folderRequest } from "./example-request.ts";
import { localToken } from "./local-token.ts";

const SERVICE_URL = process.env.SERVICE_URL || "http://127.0.0.1:8787";
const OUTPUT_FOLDER = "out";

const body = await readRequest(process.argv[2] ?? "");

const answer = await fetch(new URL("/v1/render", SERVICE_URL), {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Service-Api-Token": (await localToken()) ?? "" },
  body,
}).catch(() => fail(`No response from ${SERVICE_URL}. Start the service first: npm start`));

if (!answer.ok) fail(`${answer.status}: ${await answer.text()}`);
const disposition = parseContentDisposition(answer.headers.get("Content-Disposition") ?? "");
const path = join(OUTPUT_FOLDER, basename(disposition.parameters.filename ?? "document"));
const bytes = Buffer.from(await answer.arrayBuffer());
await mkdir(OUTPUT_FOLDER, { recursive: true });
await writeFile(path, bytes);
process.stdout.write(`${path}: ${bytes.length} bytes of ${answer.headers.get("Content-Type")}\n`);

/** The request of an example, or else of a folder: of the folder where the command was typed, not of this project. */
async function readRequest(nameOrFolder: string): Promise<string> {
  const names = await exampleNames();
  if (names.includes(nameOrFolder)) return exampleRequest(nameOrFolder);
  const folder = resolve(process.env.INIT_CWD ?? ".", nameOrFolder);
  const hasRequest = await access(join(folder, "request.json")).then(
    () => nameOrFolder !== "",
    () => false,
  );
  if (!hasRequest) fail(`Name an example, ${names.join(", ")}, or a folder with a request.json.`);
  return folderRequest(pathToFileURL(`${folder}/`)).catch((error: Error) => fail(error.message));
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
