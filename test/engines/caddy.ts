/** The real Caddy with deploy/Caddyfile, in front of two edges that restart under load. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeEdge } from "../../scripts/build/edge-configuration.ts";
import { requireTypst } from "../../typst/program-location.mjs";
import {
  API_TOKEN,
  BACKEND_TOKEN,
  type Context,
  curl,
  edgeCommand,
  expectNoLoss,
  inNetworkOf,
  renderOptions,
  run,
  startDaemon,
  startLoad,
  startNetwork,
  TOKEN_VARIABLES,
  until,
} from "./part.ts";

const PORTS = [8786, 8787];
const PROXY_URL = "https://127.0.0.1";
/** The test makes its own certificate, and the machine is not to trust it. */
const OPTIONS = "\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\tdefault_sni 127.0.0.1\n";

export async function tryCaddy({ folder, say, atEnd }: Context): Promise<void> {
  const own = join(folder, "caddy");
  await mkdir(own);
  const pid = await startNetwork(atEnd);
  const backend = startDaemon(inNetworkOf(pid, [process.execPath, "backend/main.ts"]), {
    SERVICE_TYPST_BIN: await requireTypst(),
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
    SERVICE_PORT: "8788",
    // What is in front of it does not depend on it.
    SERVICE_SANDBOX: "none",
    SERVICE_WORK_DIRECTORY: join(own, "work"),
  });
  atEnd(() => backend.end("SIGTERM"));
  const edgeFolder = join(own, "edge");
  await writeEdge(edgeFolder);
  const startEdge = async (port: number) => {
    const edge = startDaemon(inNetworkOf(pid, edgeCommand(edgeFolder, `127.0.0.1:${port}`)), {
      ...TOKEN_VARIABLES,
      SERVICE_BACKEND_URLS: "http://127.0.0.1:8788",
    });
    const answers = async () => (await curl(pid, `http://127.0.0.1:${port}/health`)).status === 200;
    await until(`an edge at ${port}`, answers);
    return edge;
  };
  const edges = new Map(await Promise.all(PORTS.map(async (port) => [port, await startEdge(port)] as const)));
  atEnd(() => Promise.all([...edges.values()].map((edge) => edge.end("SIGTERM"))));
  const shipped = await readFile(new URL("../../deploy/Caddyfile", import.meta.url), "utf8");
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

  for (const round of [1, 2, 3]) {
    const load = await startLoad(pid, PROXY_URL, 500);
    for (const [port, edge] of edges) {
      await edge.end("SIGTERM");
      edges.set(port, await startEdge(port));
    }
    await expectNoLoss(load, `both edges restarted, one after the other, behind Caddy (${round} of 3)`, say);
  }
  for (const edge of edges.values()) await edge.end("SIGTERM");
  edges.clear();
  const { status } = await render();
  const lines = await readFile(join(own, "caddy.log"), "utf8");
  if (status !== 502 || !lines.includes("connection refused")) throw new Error(`without edges: ${status} ${lines}`);
  if (lines.includes(API_TOKEN)) throw new Error("Caddy logs a caller's token");
  say("without edges it answers 502 and logs the request without its token");
}
