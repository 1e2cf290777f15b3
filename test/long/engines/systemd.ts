/**
 * The units of deploy/systemd on the systemd of a Debian, with the steps of docs/deploy/one-host.md; and nginx in front
 * of them.
 */
import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { writeRelease } from "../../../scripts/build/release-folder.ts";
import { requireTypst } from "../../../typst/program-location.mjs";
import { makeDebian } from "./debian.ts";
import { startNginx } from "./nginx.ts";
import {
  BACKEND_TOKEN,
  CHECKOUT,
  type Command,
  type Context,
  curl,
  expectNoLoss,
  renderOptions,
  run,
  startDaemon,
  startLoad,
  TOKEN_VARIABLES,
  until,
} from "./part.ts";
import { expectBodies, PROXY_URL } from "./proxy.ts";

/** Debian's suites, and the first word of what their systemd says of its version. */
export const SYSTEMS = [
  { suite: "trixie", systemd: "257" },
  { suite: "bookworm", systemd: "252" },
] as const;

/** What a machine has before the steps of the page. */
const PACKAGES = ["systemd", "systemd-sysv", "dbus"];
const INSTALLED = "/opt/document-rendering-service";
/** The version that the page installs, and two in its place that are the same release. */
const VERSION_OF_PAGE = "1.2.3";
const VERSIONS = ["1.9.0", "1.10.0"] as const;
const releaseFolder = (version: string) => `/opt/document-rendering-releases/${version}`;
const BACKENDS = ["document-rendering-backend@8788", "document-rendering-backend@8789"];
const EDGES = ["document-rendering-edge@8786", "document-rendering-edge@8787"];
const UNITS = [...BACKENDS, ...EDGES];

/**
 * nspawn must not filter system calls, and needs a hierarchy of cgroups of version 2, which the machine may not have.
 */
const BOOT = `
umount --recursive /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --boot --register=no --keep-unit \\
  --private-network --link-journal=no --console=pipe --machine="$1" --directory="$2" ${VERSIONS.map((version) => `--bind-ro="$3:${releaseFolder(version)}"`).join(" ")}`;

export async function trySystemd({ suite, systemd }: (typeof SYSTEMS)[number], context: Context): Promise<void> {
  const { folder, say, atEnd } = context;
  const root = join(folder, "root");
  const page = await readFile(join(CHECKOUT, "docs/deploy/one-host.md"), "utf8");
  const section = page.slice(page.indexOf("\n## Systemd\n"));
  const installed = /`apt-get install ([^`]*)`/.exec(section)?.[1]?.split(" ") ?? [];
  // The packages of npm are those of the checkout.
  await makeDebian(root, suite, [...PACKAGES, ...installed.filter((name) => name !== "npm")]);
  const typstPath = await requireTypst();
  await copyFile(typstPath, join(root, "usr/local/bin/typst"));
  // Step 2 of the page, on this machine.
  const release = join(folder, "release");
  await writeRelease(release);
  const ownMounts = ["--mount", "--propagation", "private"];
  const nspawn = startDaemon(["unshare", ...ownMounts, "sh", "-c", BOOT, "sh", `engines-${systemd}`, root, release]);
  let leader = Number.NaN;
  // The end of its first process ends the machine; that of nspawn does not.
  atEnd(async () => {
    if (leader > 0) await execa("kill", ["-KILL", String(leader)], { reject: false });
    await nspawn.end("SIGTERM");
  });
  const inside = (...command: Command) =>
    run(["nsenter", `--target=${leader}`, "--all", "env", "-i", `PATH=${PATH}`, ...command]);
  const shell = (script: string) => inside("sh", "-ec", script);
  await until("a running system", async () => {
    // Its first child only prepares the second, which is the first process of the machine.
    leader = Number.parseInt(await readFile(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`, "utf8"), 10);
    return (await inside("systemctl", "is-system-running", "--wait")) === "running";
  });
  const version = await shell("systemctl --version | head -n 1; bwrap --version");
  if (!version.startsWith(`systemd ${systemd}`)) throw new Error(`this is ${version}`);
  say(`booted ${version.replaceAll(/\s+/g, " ")}`);

  await shell(stepsOf(section));
  await until("a render", async () => (await render(leader)) === "%PDF-");
  await until("a second backend", async () => (await curl(leader, "http://127.0.0.1:8789/ready")).status === 200);
  const health = await curl(leader, "http://127.0.0.1:8789/health");
  say(`the units start, and the edge renders: ${health.body}`);

  // Of 100, by what a service may do; the page has the numbers.
  for (const [unit, exposure] of [
    [BACKENDS[0], 33],
    [EDGES[0], 13],
  ] as const) {
    await inside("systemd-analyze", "security", `--threshold=${exposure}`, unit ?? "");
  }

  await startNginx(leader, context);
  await expectBodies(leader, "nginx", [21_500_000], context);
  const [first, second] = VERSIONS;
  for (const version of [second, first, second]) {
    const load = await startLoad(leader, PROXY_URL, 500);
    const lines = await shell(`cd ${INSTALLED} && deploy/roll.sh systemd ${version}`);
    const order = lines.replaceAll(/document-rendering-|[.]service: \S+/g, "").replaceAll("\n", ", ");
    await expectNoLoss(load, `deploy/roll.sh systemd ${version}, behind nginx (${order})`, say);
    const folders = await shell(
      `for pid in $(systemctl show --property=MainPID --value ${UNITS.join(" ")}); do readlink /proc/$pid/cwd; done`,
    );
    const inVersion = folders.split("\n").filter((folder) => folder.startsWith(releaseFolder(version)));
    if (inVersion.length !== UNITS.length) throw new Error(`not all in ${version}: ${folders}`);
  }
  // As docs/operations.md#rotating-tokens has it.
  const newToken = `${BACKEND_TOKEN}-of-tomorrow`;
  for (const [setting, value] of [
    ["SERVICE_BACKEND_TOKENS", `${BACKEND_TOKEN},${newToken}`],
    ["SERVICE_BACKEND_TOKEN", newToken],
    ["SERVICE_BACKEND_TOKENS", newToken],
  ] as const) {
    const load = await startLoad(leader, PROXY_URL, 200);
    const change = `sed -i 's/^${setting}=.*/${setting}=${value}/' /etc/document-rendering-service/*.env`;
    await shell(`${change}; cd ${INSTALLED} && deploy/roll.sh systemd`);
    await expectNoLoss(load, `${setting} of a rotation, with ${value.split(",").length} in it`, say);
  }
  const underKill = await startLoad(leader, PROXY_URL, 100);
  await inside("systemctl", "kill", "--signal=KILL", BACKENDS[0] ?? "");
  await expectNoLoss(underKill, "kill -9 of a backend", say);
  // Until it is started again, its result is that of the kill.
  for (const unit of BACKENDS) await untilReady(leader, unit);
  await tryComebacks(leader, shell, say);
  await inside("systemctl", "stop", ...EDGES, ...BACKENDS);
  const results = await inside("systemctl", "show", "--property=Result", "--value", ...EDGES, ...BACKENDS);
  if (results.split(/\s+/).some((result) => result !== "success")) throw new Error(`stopped with ${results}`);
  say("stop: every unit ends with success");
}

/** A backend whose event loop stands still, and one that cannot start for longer than systemd usually tries. */
async function tryComebacks(leader: number, shell: (script: string) => Promise<string>, say: Context["say"]) {
  const [backend = ""] = BACKENDS;
  const folder = "/run/systemd/system/document-rendering-backend@.service.d";
  const seconds = `mkdir ${folder}; printf '[Service]\nWatchdogSec=20s\n' >${folder}/seconds.conf; systemctl daemon-reload`;
  await shell(`${seconds}; systemctl restart ${backend}`);
  await untilReady(leader, backend);
  const restarts = async () => Number(await shell(`systemctl show --property=NRestarts --value ${backend}`));
  const underStall = await startLoad(leader, PROXY_URL, 100);
  await shell(`kill -STOP $(systemctl show --property=MainPID --value ${backend})`);
  await until("the watchdog", async () => (await restarts()) === 1);
  await expectNoLoss(underStall, "the event loop of a backend stands still until the watchdog ends it", say);
  await untilReady(leader, backend);
  await shell(`mv /usr/local/bin/typst /usr/local/bin/missing; systemctl kill --signal=KILL ${backend}`);
  await until("ten starts that fail", async () => (await restarts()) > 10);
  await shell("mv /usr/local/bin/missing /usr/local/bin/typst");
  await untilReady(leader, backend);
  say("a backend that could not start ten times serves as soon as it can");
}

async function untilReady(leader: number, unit: string): Promise<void> {
  const url = `http://127.0.0.1:${unit.split("@")[1]}/${unit.includes("backend") ? "ready" : "health"}`;
  await until(`${unit} to answer`, async () => (await curl(leader, url)).status === 200);
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The commands of the page from the link to the version on, with tokens that this program knows. */
function stepsOf(section: string): string {
  const blocks = [...section.matchAll(/^ *```sh\n([^`]*)^ *```$/gm)].map(([, block = ""]) => block);
  const [link, tokens, start] = [
    /^ *(ln -s .*)$/m.exec(section)?.[1]?.replaceAll(VERSION_OF_PAGE, VERSIONS[0]),
    blocks.find((block) => block.includes("deploy/make-env.sh")),
    blocks.find((block) => block.includes("enable --now")),
  ];
  if (link === undefined || tokens === undefined || start === undefined) {
    throw new Error("docs/deploy/one-host.md has no steps for systemd");
  }
  const known = Object.entries(TOKEN_VARIABLES).map(
    ([setting, value]) => `sed -i 's/^${setting}=.*/${setting}=${value}/' /etc/document-rendering-service/*.env`,
  );
  return [link, `cd ${INSTALLED}`, tokens, ...known, start].join("\n");
}

async function render(leader: number): Promise<string> {
  const { body } = await curl(leader, "http://127.0.0.1:8787/v1/render", ...renderOptions("= Hello"));
  return body.slice(0, 5);
}
