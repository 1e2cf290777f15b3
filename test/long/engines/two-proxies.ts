/** The real HAProxy with deploy/haproxy.cfg and the real Apache httpd with deploy/apache.conf, in front of two edges. */
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Command,
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
import { expectBodies, PROXY_URL, sendLarge, writeCertificate } from "./proxy.ts";
import { EDGE_PORTS, startTwoEdges } from "./two-edges.ts";

const STAND_INS = fileURLToPath(new URL("stand-in-edges.ts", import.meta.url));
/** 100 kB: more than HAProxy's buffer. */
const LARGE_BYTES = 100_000;
/** In the place of the 200 s for which a proxy waits for an edge. */
const SHORT_SECONDS = 2;

interface Proxy {
  readonly name: string;
  /** The file below `deploy/`. */
  readonly file: string;
  readonly timeout: RegExp;
  /** Writes the rest of a configuration around the shipped one, and says what runs it in the foreground. */
  readonly prepare: (own: string, shipped: string) => Promise<{ readonly check: Command; readonly start: Command }>;
  /** How often a render is sent whose edge breaks the connection, by the size of its body. */
  readonly sentTimes: { readonly small: number; readonly large: number };
  /** What a client gets when an edge takes too long. */
  readonly timeoutStatus: 502 | 504;
}

const HAPROXY: Proxy = {
  name: "HAProxy",
  file: "haproxy.cfg",
  timeout: /(?<=timeout server )200s/,
  prepare: async (own, shipped) => {
    await writeFile(join(own, "documents.example.pem"), await writeCertificate(own));
    const configuration = join(own, "haproxy.cfg");
    await writeFile(configuration, shipped.replaceAll("/etc/haproxy/", `${own}/`));
    return { check: ["haproxy", "-c", "-f", configuration], start: ["haproxy", "-db", "-f", configuration] };
  },
  sentTimes: { small: 2, large: 1 },
  timeoutStatus: 504,
};

/** Debian's a2enmod enables these for the page's steps, or Debian itself. */
const MODULES =
  "mpm_event authz_core reqtimeout alias headers http2 ssl proxy proxy_http proxy_balancer lbmethod_byrequests slotmem_shm";

const APACHE: Proxy = {
  name: "Apache httpd",
  file: "apache.conf",
  timeout: /(?<=ProxyTimeout )200/,
  prepare: async (own, shipped) => {
    await writeCertificate(own);
    await writeFile(join(own, "site.conf"), shipped.replaceAll("/etc/letsencrypt/live/documents.example", own));
    const configuration = join(own, "httpd.conf");
    const modules = MODULES.split(" ").map(
      (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
    );
    const places = [`ServerRoot ${own}`, `DefaultRuntimeDir ${own}`, `PidFile ${own}/pid`, `ErrorLog ${own}/error.log`];
    const lines = [
      ...modules,
      ...places,
      "ServerName documents.example",
      "User www-data",
      "Group www-data",
      "Listen 443",
    ];
    await writeFile(
      configuration,
      [...lines, "Include /etc/apache2/mods-available/reqtimeout.conf", `Include ${own}/site.conf`, ""].join("\n"),
    );
    return {
      check: ["apache2", "-t", "-f", configuration],
      start: ["apache2", "-D", "FOREGROUND", "-f", configuration],
    };
  },
  sentTimes: { small: 1, large: 1 },
  timeoutStatus: 502,
};

export const tryHaproxy = (context: Context) => tryProxy(HAPROXY, context);
export const tryApache = (context: Context) => tryProxy(APACHE, context);

async function tryProxy(proxy: Proxy, context: Context): Promise<void> {
  const { say } = context;
  const { pid, start, stop } = await startTwoEdges(context);
  const render = () => curl(pid, `${PROXY_URL}/v1/render`, ...renderOptions("= Hello"));
  const first = await startProxy(proxy, pid, (shipped) => shipped, context);
  await until(`a render through ${proxy.name}`, async () => (await render()).body.startsWith("%PDF-"));
  await expectBodies(pid, proxy.name, [21_500_000, 60_000_000], context);
  for (const port of EDGE_PORTS) {
    await stop(port);
    for (let count = 0; count < 6; count += 1) {
      const { status } = await render();
      if (status !== 200) throw new Error(`without the edge at ${port}: ${status}`);
    }
    const { status } = await sendLarge(pid, 19_000_000, context.folder);
    if (status !== 200) throw new Error(`19 MB without the edge at ${port}: ${status}`);
    await start(port);
  }
  say("without one edge, the other answers all, also bodies of 19 MB");
  for (const round of [1, 2, 3]) {
    const load = await startLoad(pid, PROXY_URL, 500);
    for (const port of EDGE_PORTS) {
      await stop(port);
      await start(port);
    }
    await expectNoLoss(load, `both edges restarted, one after the other, behind ${proxy.name} (${round} of 3)`, say);
  }
  await first.end("SIGTERM");
  for (const port of EDGE_PORTS) await stop(port);
  await tryRepeating(proxy, pid, context);
}

/** How often a render reaches an edge that does not answer it. */
async function tryRepeating(proxy: Proxy, pid: number, context: Context): Promise<void> {
  const received = join(context.folder, "received");
  const output = await open(received, "w");
  context.atEnd(() => output.close());
  const program: Command = [process.execPath, STAND_INS, ...EDGE_PORTS.map(String)];
  const standIns = startDaemon(
    inNetworkOf(pid, ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", received, ...program]),
  );
  context.atEnd(() => standIns.end("SIGKILL"));
  await startProxy(
    proxy,
    pid,
    (text) => text.replace(proxy.timeout, (all) => all.replace("200", `${SHORT_SECONDS}`)),
    context,
  );
  await until("an answer of both stand-ins", async () => (await curl(pid, `${PROXY_URL}/health`)).status === 200);
  const times = async (path: string, bytes: number, expectedStatus: number) => {
    const before = (await readFile(received, "utf8")).split("\n").filter((line) => line === path).length;
    const data = join(context.folder, "body");
    await writeFile(data, "x".repeat(bytes));
    // Over HTTP/2, HAProxy has the client send it again, and curl does so four times.
    const { status } = await curl(pid, `${PROXY_URL}${path}`, "--http1.1", "--data-binary", `@${data}`);
    if (status !== expectedStatus) throw new Error(`${path}, ${bytes} bytes: ${status}`);
    return (await readFile(received, "utf8")).split("\n").filter((line) => line === path).length - before;
  };
  const seen = {
    small: await times("/close", 1_000, 502),
    large: await times("/close", LARGE_BYTES, 502),
    slow: await times("/hold", 1_000, proxy.timeoutStatus),
  };
  const expected = { ...proxy.sentTimes, slow: 1 };
  if (JSON.stringify(seen) !== JSON.stringify(expected)) throw new Error(`sent ${JSON.stringify(seen)} times`);
  const { small, large, slow } = seen;
  context.say(
    `a render whose connection breaks is sent ${small} times, one of 100 kB ${large}, and one that takes too long ${slow}`,
  );
}

async function startProxy(proxy: Proxy, pid: number, edit: (shipped: string) => string, { folder, atEnd }: Context) {
  const own = join(folder, "proxy");
  await mkdir(own, { recursive: true });
  const shipped = await readFile(new URL(`../../../deploy/${proxy.file}`, import.meta.url), "utf8");
  const { check, start } = await proxy.prepare(own, edit(shipped));
  await run(check);
  const daemon = startDaemon(inNetworkOf(pid, start));
  atEnd(() => daemon.end("SIGTERM"));
  return daemon;
}
