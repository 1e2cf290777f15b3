/** The API token of the service on this machine: from the environment, or generated once and stored outside git. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseNamedTokens } from "../../protocol/authentication.ts";

const TOKEN_FILE = fileURLToPath(new URL("../../.local/api-token", import.meta.url));

/** The first accepted token, without its name; null when none has been generated yet. */
export async function localToken(): Promise<string | null> {
  const configured = process.env.SERVICE_API_TOKENS || (await readFile(TOKEN_FILE, "utf8").catch(() => ""));
  return parseNamedTokens("SERVICE_API_TOKENS", configured)[0]?.token ?? null;
}

/** All accepted tokens as a setting. The first call stores one, so that clients work after a restart. */
export async function localTokens(): Promise<string> {
  if (process.env.SERVICE_API_TOKENS) return process.env.SERVICE_API_TOKENS;
  const present = await localToken();
  if (present !== null) return present;
  const token = randomBytes(32).toString("base64url");
  await mkdir(dirname(TOKEN_FILE), { recursive: true });
  await writeFile(TOKEN_FILE, `${token}\n`, { mode: 0o600 });
  return token;
}
