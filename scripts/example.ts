/** `npm run example -- <name>`: sends an example to the service. */
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parse as parseContentDisposition } from "content-disposition";
import { EXAMPLE_NAMES } from "../protocol/routes.ts";
import { exampleRequest } from "./examples/example-request.ts";
import { localToken } from "./start/local-token.ts";

const OUTPUT_FOLDER = "out";
const SERVICE_URL = process.env.SERVICE_URL || "http://127.0.0.1:8787";

const name = EXAMPLE_NAMES.find((known) => known === process.argv[2]);
if (name === undefined) fail(`Name an example: npm run example -- <${EXAMPLE_NAMES.join(" | ")}>`);
const answer = await fetch(new URL("/v1/render", SERVICE_URL), {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Service-Api-Token": (await localToken()) ?? "" },
  body: await exampleRequest(name),
}).catch(() =>
  fail(`No response from ${SERVICE_URL}. Start the service with npm start, or name its address in SERVICE_URL.`),
);
if (!answer.ok) fail(`${answer.status}: ${await answer.text()}`);
const disposition = parseContentDisposition(answer.headers.get("Content-Disposition") ?? "");
const file = join(OUTPUT_FOLDER, basename(disposition.parameters.filename ?? name));
const bytes = Buffer.from(await answer.arrayBuffer());
await mkdir(OUTPUT_FOLDER, { recursive: true });
await writeFile(file, bytes);
process.stdout.write(`${file}: ${bytes.length} bytes of ${answer.headers.get("Content-Type")}\n`);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
