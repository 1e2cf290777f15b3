/** `npm run example -- <folder>`: sends an example, or a folder with `request.json` or `main.typ`, to the service. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parse as parseContentDisposition } from "content-disposition";
import { execa } from "execa";
import { EXAMPLE_NAMES } from "../protocol/routes.ts";
import { requestOfFolder } from "./examples/example-request.ts";
import { localToken } from "./start/local-token.ts";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));
const COMMAND = join(PROJECT, "clients/command-line/main.ts");
const OUTPUT_FOLDER = "out";
const SERVICE_URL = process.env.SERVICE_URL || "http://127.0.0.1:8787";

const name = process.argv[2] ?? "";
const isExample = EXAMPLE_NAMES.some((known) => known === name);
const folder = isExample ? join(PROJECT, "examples", name) : resolve(process.env.INIT_CWD ?? ".", name);
await mkdir(OUTPUT_FOLDER, { recursive: true });
if (name !== "" && existsSync(join(folder, "request.json"))) {
  await sendRequest(folder);
} else if (name !== "" && existsSync(join(folder, "main.typ"))) {
  const output = join(OUTPUT_FOLDER, `${basename(folder)}.pdf`);
  const command = [COMMAND, "render", folder, "-o", output];
  const { exitCode = 1 } = await execa(process.execPath, command, { stdio: "inherit", reject: false });
  process.exitCode = exitCode;
} else {
  fail(
    `Name an example or a folder with a request.json or a main.typ: npm run example -- <${EXAMPLE_NAMES.join(" | ")} | folder>`,
  );
}

async function sendRequest(path: string): Promise<void> {
  const answer = await fetch(new URL("/v1/render", SERVICE_URL), {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Service-Api-Token": (await localToken()) ?? "" },
    body: await requestOfFolder(path),
  }).catch(() =>
    fail(`No response from ${SERVICE_URL}. Start the service with npm start, or name its address in SERVICE_URL.`),
  );
  if (!answer.ok) fail(`${answer.status}: ${await answer.text()}`);
  const disposition = parseContentDisposition(answer.headers.get("Content-Disposition") ?? "");
  const file = join(OUTPUT_FOLDER, basename(disposition.parameters.filename ?? `${basename(path)}.out`));
  const bytes = Buffer.from(await answer.arrayBuffer());
  await writeFile(file, bytes);
  process.stdout.write(`${file}: ${bytes.length} bytes of ${answer.headers.get("Content-Type")}\n`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
