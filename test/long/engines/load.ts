/**
 * Clients of `npm run test:long -- engines`: each sends one render after the other, until standard input is closed and enough
 * were sent. Prints an empty line after the first answer, and at the end how many were sent and how those that made no
 * PDF ended. It accepts any certificate, because tests make their own.
 */
import { Agent, request as httpRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";

const CLIENTS = 4;
/** Longer than a render may take with all that it waits for. */
const ANSWER_TIMEOUT_MILLISECONDS = 90_000;

const [url = "", token = "", atLeast = "1", connections = "kept"] = process.argv.slice(2);
const isTls = url.startsWith("https:");
const keepAlive = connections === "kept";
const agent = isTls ? new TlsAgent({ keepAlive, rejectUnauthorized: false }) : new Agent({ keepAlive });
const lost: Record<string, number> = {};
let sent = 0;
let answered = 0;
let isClosed = false;
process.stdin.resume().on("end", () => {
  isClosed = true;
});

/** `ok`, or how it ended. */
function render(): Promise<string> {
  const body = JSON.stringify({ source: "= #data.name\n#lorem(200)", data: { name: `Document ${sent}` } });
  return new Promise((resolve) => {
    const headers = {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
      "X-Service-Api-Token": token,
    };
    const options = { method: "POST", agent, headers, timeout: ANSWER_TIMEOUT_MILLISECONDS };
    const request = (isTls ? tlsRequest : httpRequest)(new URL("/v1/render", url), options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("error", ({ message }) => resolve(message));
      answer.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const isPdf = answer.statusCode === 200 && bytes.includes("%PDF-") && bytes.includes("%%EOF");
        resolve(isPdf ? "ok" : `status ${answer.statusCode}`);
      });
    });
    request.on("error", ({ message }) => resolve(message));
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.end(body);
  });
}

async function client(): Promise<void> {
  while (!isClosed || sent < Number(atLeast)) {
    sent += 1;
    const end = await render();
    if (answered++ === 0) process.stdout.write("\n");
    if (end !== "ok") lost[end] = (lost[end] ?? 0) + 1;
  }
}

await Promise.all(Array.from({ length: CLIENTS }, client));
process.stdout.write(JSON.stringify({ sent, lost }));
process.exit();
