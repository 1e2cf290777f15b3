/** The real nginx with deploy/nginx.conf, in the network of a process. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Context, curl, inNetworkOf, startDaemon, until } from "./part.ts";
import { PROXY_URL, writeCertificate } from "./proxy.ts";

/** Starts it, with certificates of a test in the place of those that the file names. */
export async function startNginx(pid: number, { folder, atEnd }: Context): Promise<void> {
  const own = join(folder, "nginx");
  await mkdir(own, { recursive: true });
  await writeCertificate(own);
  const shipped = await readFile(new URL("../../deploy/nginx.conf", import.meta.url), "utf8");
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
}
