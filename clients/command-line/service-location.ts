/**
 * Which service the command talks to, and with which token: options first, then the environment, then, but only for a
 * service on this machine, the token that `npm start` keeps in the checkout of this program. It is never printed.
 */
import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { parseNamedTokens } from "../../protocol/authentication.ts";
import { SettingError } from "../../rules/settings.ts";
import { CommandError } from "./exit-codes.ts";
import { printableLine } from "./terminal.ts";

export const DEFAULT_URL = "http://127.0.0.1:8787";
const TOKEN_IN_CHECKOUT = join(".local", "api-token");
/** A token has some dozens of bytes. */
const MAX_TOKEN_FILE_BYTES = 4096;
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

/** The URL of the service, for what needs no token. @throws CommandError for an invalid one */
export function serviceUrl(url: string | undefined): string {
  const address = url ?? (process.env.SERVICE_URL || DEFAULT_URL);
  const parsed = URL.canParse(address) ? new URL(address) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new CommandError(`${address} is not the URL of a service: it must begin with http:// or https://.`);
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new CommandError("The service URL must have no user name or password: use --token-file.");
  }
  return address;
}

/** @throws CommandError for an invalid URL, or a token file that cannot be read. */
export async function locateService({ url: named, tokenFile }: ServiceOptions): Promise<ServiceLocation> {
  const url = serviceUrl(named);
  const { SERVICE_API_TOKEN } = process.env;
  if (tokenFile !== undefined) {
    return { url, token: await tokenFrom(tokenFile), tokenOrigin: `the file ${tokenFile} (--token-file)` };
  }
  if (SERVICE_API_TOKEN) {
    return { url, token: SERVICE_API_TOKEN.trim(), tokenOrigin: "the variable SERVICE_API_TOKEN" };
  }
  // Only for this machine: the token of a checkout must not reach another service.
  const { token, file } = LOOPBACK_HOSTS.has(new URL(url).hostname) ? await tokenOfCheckout() : NO_TOKEN;
  return { url, token, tokenOrigin: `the file ${file} of the checkout` };
}

const NO_TOKEN = { token: "", file: "" };

/** @throws CommandError when the file cannot be read, or holds anything else than a token */
export async function tokenFrom(file: string): Promise<string> {
  const text = await readSmall(file, false).catch((error: unknown) => {
    throw new CommandError(`The token file ${file} is not used: ${whyNotUsed(error)}.`);
  });
  const token = text.trim();
  // A header can hold nothing else. The message must not quote the token.
  if (!/^[!-~]+$/.test(token)) throw new CommandError(`The token file ${file} must contain one line of visible ASCII.`);
  return token;
}

/**
 * Only of the checkout that this program is in: a stranger's folder could have a link that sends another program's
 * secret to whatever listens here. @throws CommandError when there is a file that `npm start` has not written
 */
async function tokenOfCheckout(): Promise<{ readonly token: string; readonly file: string }> {
  const checkout = ownCheckout();
  if (checkout === null) return NO_TOKEN;
  const file = join(checkout, TOKEN_IN_CHECKOUT);
  const text = await readSmall(file, true).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw new CommandError(printableLine(`${file} is not used: ${whyNotUsed(error)}. ${OTHER_WAYS}`));
  });
  if (text === "") return NO_TOKEN;
  try {
    return { token: parseNamedTokens(TOKEN_IN_CHECKOUT, text)[0]?.token ?? "", file };
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw new CommandError(printableLine(`${file} is not used: it holds no token. ${OTHER_WAYS}`));
  }
}

const OTHER_WAYS = "Set SERVICE_API_TOKEN, or pass a file with --token-file.";

/** A checkout has the program in `clients/command-line/` or, built, in `dist/cli/`. An installed package has neither. */
function ownCheckout(): string | null {
  const folder = dirname(fileURLToPath(import.meta.url));
  const isBuilt = folder.endsWith(join(sep, "dist", "cli"));
  return isBuilt || import.meta.url.endsWith(".ts") ? dirname(dirname(folder)) : null;
}

class UnfitFile extends Error {}

function whyNotUsed(error: unknown): string {
  return error instanceof UnfitFile ? error.message : "it cannot be read";
}

/**
 * At most `MAX_TOKEN_FILE_BYTES`, whatever the file is.
 *
 * @param isOwn takes only a regular file of this user, through no link
 * @throws UnfitFile for any other, and for more
 */
async function readSmall(file: string, isOwn: boolean): Promise<string> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
  for (const path of isOwn ? [dirname(file), file] : []) {
    if ((await lstat(path)).isSymbolicLink()) throw new UnfitFile("it is a symbolic link");
  }
  const handle = await open(file, isOwn ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK : O_RDONLY);
  try {
    const stats = await handle.stat();
    if (isOwn && !stats.isFile()) throw new UnfitFile("it is not a regular file");
    if (isOwn && stats.uid !== (process.geteuid?.() ?? stats.uid)) throw new UnfitFile("it belongs to another user");
    const bytes = Buffer.alloc(MAX_TOKEN_FILE_BYTES + 1);
    for (let size = 0; ; ) {
      const { bytesRead } = await handle.read(bytes, size, bytes.length - size);
      size += bytesRead;
      if (size === bytes.length) throw new UnfitFile(`it has more than ${MAX_TOKEN_FILE_BYTES} bytes`);
      if (bytesRead === 0) return bytes.toString("utf8", 0, size);
    }
  } finally {
    await handle.close();
  }
}
