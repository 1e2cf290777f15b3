/**
 * Which service the command talks to, and with which token: options first, then the environment, then, but only for a service
 * on this machine, the token that `npm start` keeps in a checkout. The token is never printed.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseNamedTokens } from "../protocol/authentication.ts";
import { CommandError } from "./exit-codes.ts";

export const DEFAULT_URL = "http://127.0.0.1:8787";
const TOKEN_IN_CHECKOUT = join(".local", "api-token");
/** The names of this machine in a URL. */
export const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "[::1]"]);

export interface ServiceOptions {
  readonly url?: string | undefined;
  readonly tokenFile?: string | undefined;
}

export interface ServiceLocation {
  readonly url: string;
  /** Empty if none is known: the service then answers 403. */
  readonly token: string;
  /** Where the token came from, in words. */
  readonly tokenOrigin: string;
}

/** @throws CommandError for an invalid URL, or a token file that cannot be read. */
export async function locateService(
  { url, tokenFile }: ServiceOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<ServiceLocation> {
  const address = url ?? (env.SERVICE_URL || DEFAULT_URL);
  const parsed = URL.canParse(address) ? new URL(address) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandError(`${address} is not the URL of a service: it must begin with http:// or https://.`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new CommandError("The service URL must have no user name or password: use --token-file.");
  }
  if (tokenFile !== undefined) {
    return { url: address, token: await tokenFrom(tokenFile), tokenOrigin: `the file ${tokenFile} (--token-file)` };
  }
  if (env.SERVICE_API_TOKEN) {
    return { url: address, token: env.SERVICE_API_TOKEN.trim(), tokenOrigin: "the variable SERVICE_API_TOKEN" };
  }
  // Only for this machine: the token of a checkout must not reach another service.
  const { token, file } = LOOPBACK_HOSTS.has(parsed.hostname) ? await tokenOfCheckout() : NO_TOKEN;
  return { url: address, token, tokenOrigin: `the file ${file} of the checkout` };
}

const NO_TOKEN = { token: "", file: "" };

/** The token in a file. @throws CommandError when it cannot be read, or holds anything else */
export async function tokenFrom(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new CommandError(`The token file ${file} cannot be read.`);
  });
  const token = text.trim();
  // A header can hold nothing else. The message must not quote the token.
  if (!/^[!-~]+$/.test(token)) throw new CommandError(`The token file ${file} must contain one line of visible ASCII.`);
  return token;
}

/** Of the checkout that the working directory or this program is in. */
async function tokenOfCheckout(): Promise<{ readonly token: string; readonly file: string }> {
  for (const start of [process.cwd(), dirname(fileURLToPath(import.meta.url))]) {
    for (let folder = start; ; folder = dirname(folder)) {
      const file = join(folder, TOKEN_IN_CHECKOUT);
      const text = await readFile(file, "utf8").catch(() => "");
      const token = parseNamedTokens(TOKEN_IN_CHECKOUT, text)[0]?.token;
      if (token !== undefined) return { token, file };
      if (folder === dirname(folder)) break;
    }
  }
  return NO_TOKEN;
}
