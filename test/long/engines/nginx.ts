/** The real nginx with deploy/nginx.conf, in the network of a process. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DEFAULT_LIMITS } from "../../../rules/limits.ts";
import { PROBLEM_MEDIA_TYPE, problemDocument, requestTooLarge } from "../../../rules/problem.ts";
import { type Context, curl, inNetworkOf, startDaemon, until } from "./part.ts";
import { PROXY_URL, writeCertificate } from "./proxy.ts";

/** Starts it, with certificates of a test in the place of those that the file names. */
export async function startNginx(pid: number, { folder, atEnd }: Context): Promise<void> {
  const own = join(folder, "nginx");
  await mkdir(own, { recursive: true });
  await writeCertificate(own);
  const shipped = await readFile(new URL("../../../deploy/nginx.conf", import.meta.url), "utf8");
  await writeFile(join(own, "site.conf"), shipped.replaceAll("/etc/letsencrypt/live/documents.example", own));
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${own}/${name};`);
  await writeFile(
    join(own, "nginx.conf"),
    `daemon off; user root; pid ${own}/pid; error_log ${own}/error.log;
events {}
http { access_log ${own}/access.log; ${paths.join(" ")} include ${own}/site.conf; }
`,
  );
  const nginx = startDaemon(
    inNetworkOf(pid, ["nginx", "-p", own, "-c", join(own, "nginx.conf"), "-e", join(own, "error.log")]),
  );
  atEnd(() => nginx.end("SIGQUIT"));
  await until("an answer of nginx", async () => (await curl(pid, `${PROXY_URL}/health`)).status === 200);
  await expectProblemForLargeBody(pid, own);
}

/** @throws if what nginx refuses by itself is not answered as the edge would. */
async function expectProblemForLargeBody(pid: number, folder: string): Promise<void> {
  const file = join(folder, "large-body");
  await writeFile(file, Buffer.alloc(22 * 1024 * 1024, " "));
  const options = ["--http1.1", "--include", "--header", "Expect:", "--data-binary", `@${file}`];
  for (const framing of [[], ["--header", "Transfer-Encoding: chunked"]]) {
    const { status, body } = await curl(pid, `${PROXY_URL}/v1/render`, ...options, ...framing);
    const [head = "", text = ""] = body.split("\r\n\r\n");
    const { instance, ...problem } = JSON.parse(text);
    const { max_request_body_bytes: limit } = DEFAULT_LIMITS;
    const { instance: _, ...expected } = problemDocument(requestTooLarge(null, limit), "");
    const isProblem = isDeepStrictEqual(problem, expected) && head.includes(`Content-Type: ${PROBLEM_MEDIA_TYPE}\r\n`);
    const id = /^X-Request-Id: (\w+)/m.exec(head)?.[1];
    if (status !== 413 || !isProblem || instance !== `https://documents.example/v1/render#${id}`) {
      throw new Error(`a body of 22 MiB: ${status} ${head} ${text}`);
    }
  }
}
