/**
 * `npm run example -- <name>`: sends an example to the running service and saves the file that it returns.
 */
import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { parse as parseContentDisposition } from "content-disposition";
import { exampleNames, exampleRequest } from "./example-request.ts";
import { localToken } from "./local-token.ts";

const SERVICE_URL = process.env.SERVICE_URL || "http://127.0.0.1:8787";

const name = process.argv[2] ?? "";
const names = await exampleNames();
if (!names.includes(name)) fail(`Name an example: npm run example -- <${names.join(" | ")}>`);

const answer = await fetch(new URL("/v1/render", SERVICE_URL), {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Service-Api-Token": (await localToken()) ?? "" },
  body: await exampleRequest(name),
}).catch(() => fail(`No response from ${SERVICE_URL}. Start the service first: npm start`));

if (!answer.ok) fail(`${answer.status}: ${await answer.text()}`);
const disposition = parseContentDisposition(answer.headers.get("Content-Disposition") ?? "");
const fileName = basename(disposition.parameters.filename ?? `${name}.out`);
const bytes = Buffer.from(await answer.arrayBuffer());
await writeFile(fileName, bytes);
process.stdout.write(`${fileName}: ${bytes.length} bytes of ${answer.headers.get("Content-Type")}\n`);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
