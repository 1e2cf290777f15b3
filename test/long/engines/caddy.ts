/** The real Caddy with deploy/Caddyfile, in front of two edges that restart under load. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  API_TOKEN,
  type Context,
  curl,
  expectNoLoss,
  inNetworkOf,
  renderOptions,
  run,
  startDaemon,
  startLoad,
  until,
} from "./part.ts";
import { expectBodies, PROXY_URL } from "./proxy.ts";
import { EDGE_PORTS, startTwoEdges } from "./two-edges.ts";

/** The test makes its own certificate, and the machine is not to trust it. */
const OPTIONS = "\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\tdefault_sni 127.0.0.1\n";

export async function tryCaddy(context: Context): Promise<void> {
  const own = join(context.folder, "caddy");
  await mkdir(own);
  const { say, atEnd } = context;
  const { pid, start, stop } = await startTwoEdges(context);
  const shipped = await readFile(new URL("../../../deploy/Caddyfile", import.meta.url), "utf8");
  const text = shipped.replace(/^\{$/m, `{\n${OPTIONS}`).replace(/^documents\.example \{$/m, "127.0.0.1 {");
  await writeFile(join(own, "Caddyfile"), text);
  // An older one refuses the file, and says why.
  await run(["caddy", "validate", "--adapter", "caddyfile", "--config", join(own, "Caddyfile")]);
  const script = 'exec caddy run --adapter caddyfile --config "$1/Caddyfile" > "$1/caddy.log" 2>&1';
  const directories = { HOME: own, XDG_DATA_HOME: own, XDG_CONFIG_HOME: own };
  const caddy = startDaemon(inNetworkOf(pid, ["sh", "-c", script, "sh", own]), directories);
  atEnd(() => caddy.end("SIGTERM"));
  const render = () => curl(pid, `${PROXY_URL}/v1/render`, ...renderOptions("= Hello"));
  await until("a render through Caddy", async () => (await render()).body.startsWith("%PDF-"));
  await expectBodies(pid, "Caddy", [21_500_000, 60_000_000], context);

  for (const round of [1, 2, 3]) {
    const load = await startLoad(pid, PROXY_URL, 500);
    for (const port of EDGE_PORTS) {
      await stop(port);
      await start(port);
    }
    await expectNoLoss(load, `both edges restarted, one after the other, behind Caddy (${round} of 3)`, say);
  }
  for (const port of EDGE_PORTS) await stop(port);
  const { status } = await render();
  const lines = await readFile(join(own, "caddy.log"), "utf8");
  if (status !== 502 || !lines.includes("connection refused")) throw new Error(`without edges: ${status} ${lines}`);
  if (lines.includes(API_TOKEN)) throw new Error("Caddy logs a caller's token");
  say("without edges it answers 502 and logs the request without its token");
}
