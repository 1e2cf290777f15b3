/**
 * `npm run fuzz:interface`: requests made from the interface description by Schemathesis, against the whole service. An
 * answer with 500 or more, one that is not described, a refused schema that is taken or a wrong token that is let in
 * fails.
 *
 * Schemathesis is a Python program: it is installed into the user's cache on first use. Arguments are handed to it, for
 * example `-- --max-examples 1000 --seed 1`.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { cacheFolder } from "../../../typst/cache-folder.mjs";
import { requireTypst } from "../../../typst/program-location.mjs";
import { startParts } from "../../support/service/service-parts.ts";

const VERSION = "4.32.5";
const VENV = join(cacheFolder(), `schemathesis-${VERSION}`);
const PROGRAM = join(VENV, "bin/schemathesis");

/**
 * Not `positive_data_acceptance`: a schema cannot say that files fit together, that text is Base64 or that source
 * compiles. Not `unsupported_method`: that takes the `OPTIONS` that every route answers for an undocumented method.
 */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "negative_data_rejection",
  "missing_required_header",
  "allow_header_conformance",
  "ignored_auth",
];

/** Runs a program to its end, its output shown. */
async function run(program: string, args: readonly string[], cwd: string): Promise<number> {
  const { exitCode = 1 } = await execa(program, args, { stdio: "inherit", cwd, reject: false });
  return exitCode;
}

const typstPath = await requireTypst();
// Schemathesis keeps what it has found, and where, in the folder in which it runs.
const folder = await mkdtemp(join(tmpdir(), "fuzz-interface-"));
if (!existsSync(PROGRAM)) {
  const failed =
    (await run("python3", ["-m", "venv", VENV], folder)) ||
    (await run(join(VENV, "bin/pip"), ["install", "--quiet", `schemathesis==${VERSION}`], folder));
  if (failed)
    throw new Error("Schemathesis could not be installed: it needs Python 3 with venv, and its package index");
}
const token = randomBytes(24).toString("base64url");
const backendToken = randomBytes(24).toString("base64url");
const { edge, stop } = await startParts({
  platform: "node",
  backend: { SERVICE_TYPST_BIN: typstPath, SERVICE_BACKEND_TOKENS: backendToken, SERVICE_LOG_LEVEL: "warn" },
  edge: { SERVICE_API_TOKENS: token, SERVICE_BACKEND_TOKEN: backendToken },
});
try {
  // By its file: the path that it is fetched from would be left out.
  const description = fileURLToPath(new URL("../../../static/openapi.json", import.meta.url));
  const options = ["--url", edge.url.href, "--header", `X-Service-Api-Token: ${token}`, "--checks", CHECKS.join(",")];
  const howLong = ["--continue-on-failure", "--workers", "2", ...process.argv.slice(2)];
  process.exitCode = await run(PROGRAM, ["run", description, ...options, ...howLong], folder);
} finally {
  await stop();
  await rm(folder, { recursive: true, force: true });
}
