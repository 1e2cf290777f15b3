/** What the parts with a proxy in front of the edges share. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeCertificate } from "../../support/clients/certificate.ts";
import { type Context, curl, renderOptions } from "./part.ts";

export const PROXY_URL = "https://127.0.0.1";

/** Writes `fullchain.pem` and `privkey.pem` for documents.example into a folder, and returns both. */
export async function writeCertificate(folder: string): Promise<string> {
  const { cert, key } = makeCertificate({ fromDays: -1, toDays: 1 }, ["documents.example"]);
  await writeFile(join(folder, "fullchain.pem"), cert);
  await writeFile(join(folder, "privkey.pem"), key);
  return `${cert}${key}`;
}

/** Sends a body of about so many bytes. A client's word on the scheme is one that no proxy may pass on. */
export async function sendLarge(pid: number, bytes: number, folder: string) {
  const data = Array.from({ length: bytes / 1000 }, () => "x".repeat(996));
  const file = join(folder, "large.json");
  await writeFile(file, JSON.stringify({ source: "= Large", data }));
  const options = [
    ...renderOptions("").slice(0, 4),
    "--header",
    "X-Forwarded-Proto: http",
    "--data-binary",
    `@${file}`,
  ];
  try {
    return await curl(pid, `${PROXY_URL}/v1/render`, ...options);
  } finally {
    await rm(file);
  }
}

/** What a proxy must let through, and what the edge must answer itself. */
export async function expectBodies(pid: number, proxy: string, tooLarge: readonly number[], context: Context) {
  const large = await sendLarge(pid, 19_000_000, context.folder);
  if (large.status !== 200) throw new Error(`19 MB through ${proxy}: ${large.status} ${large.body.slice(0, 200)}`);
  for (const bytes of tooLarge) {
    const { status, body } = await sendLarge(pid, bytes, context.folder);
    const problem = body.startsWith("{") ? JSON.parse(body) : null;
    if (status !== 413 || problem?.code !== "request_too_large" || !String(problem.instance).startsWith("https://")) {
      throw new Error(`${bytes} bytes through ${proxy}: ${status} ${body.slice(0, 300)}`);
    }
  }
  const { status: version } = await curl(pid, `${PROXY_URL}/health`, "--write-out", "\n%{http_version}");
  if (version !== 2) throw new Error(`${proxy} speaks HTTP/${version} with browsers`);
  for (const path of ["/metrics", "/%6Detrics"]) {
    const { status } = await curl(pid, `${PROXY_URL}${path}`);
    if (status !== 404) throw new Error(`${proxy} answers ${path} with ${status}`);
  }
  context.say(
    `${proxy} lets a body of 19 MB through; the edge refuses what is over its limit, with a problem and the scheme https`,
  );
}
