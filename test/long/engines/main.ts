/**
 * `npm run test:long -- engines`: runs the files that operators run on the engines that they run them on.
 *
 * It builds the images of the Dockerfile, starts compose.yaml, boots the systemd units under two versions of systemd,
 * puts nginx, Caddy, HAProxy and Apache httpd in front, and deploys the manifests in a Kubernetes of one node. It needs the superuser and writes nothing outside its own folder. A part whose programs are
 * missing does not run, and the end says so.
 *
 * Options: `--install` first installs Debian's packages of the programs that are missing; `--pull` fetches the base
 * images instead of making stand-ins; `--only compose` runs one part.
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { findOnPath } from "../../../typst/programs.mjs";
import { downloadWithDependencies } from "../../support/debian-13/archive.ts";
import { tryCaddy } from "./caddy.ts";
import { KUBERNETES_FOLDER, NETWORK_PLUGIN } from "./cluster/cluster.ts";
import { composeProgram, startDocker, tryAllInOne, tryCompose } from "./compose.ts";
import { buildImages, type Images } from "./images.ts";
import { tryKubernetes } from "./kubernetes.ts";
import type { Context } from "./part.ts";
import { tryPodman } from "./podman.ts";
import { SYSTEMS, trySystemd } from "./systemd.ts";
import { tryApache, tryHaproxy } from "./two-proxies.ts";

/** What `--install` installs. Kubernetes is in no Debian, and its Caddy is too old. */
const PACKAGES =
  "podman runc docker.io mmdebstrap systemd-container nginx haproxy apache2 curl iproute2 etcd-server iptables containernetworking-plugins";

/** Not a program on the PATH: a `docker-compose` there is of version 1. */
const COMPOSE = "Compose 2";
const KUBERNETES = "Kubernetes (SERVICE_KUBERNETES_BIN)";

interface Part {
  readonly name: string;
  readonly needs: readonly string[];
  readonly run: (context: Context) => Promise<void>;
}

const { values } = parseArgs({
  options: {
    install: { type: "boolean" },
    pull: { type: "boolean" },
    only: { type: "string" },
  },
});
let images: Images | null = null;

const PARTS: readonly Part[] = [
  { name: "podman", needs: ["podman", "runc", "mmdebstrap"], run: (context) => tryPodman(builtImages(), context) },
  {
    name: "compose",
    needs: ["podman", "runc", "mmdebstrap", "dockerd", "docker", COMPOSE, "nginx", "curl"],
    run: async (context) => {
      const docker = await startDocker(builtImages(), context);
      await tryAllInOne(docker, context);
      await tryCompose(docker, context);
    },
  },
  ...SYSTEMS.map((system) => ({
    name: `systemd-${system.systemd}`,
    needs: ["mmdebstrap", "systemd-nspawn", "nginx", "curl"],
    run: (context: Context) => trySystemd(system, context),
  })),
  { name: "caddy", needs: ["caddy", "curl"], run: tryCaddy },
  { name: "haproxy", needs: ["haproxy", "curl"], run: tryHaproxy },
  { name: "apache", needs: ["apache2", "curl"], run: tryApache },
  {
    name: "kubernetes",
    needs: ["podman", "runc", "mmdebstrap", KUBERNETES, "etcd", "iptables", NETWORK_PLUGIN, "curl"],
    run: (context) => tryKubernetes(builtImages(), context),
  },
];

if (process.getuid?.() !== 0) throw new Error("npm run test:long -- engines must be run by the superuser");
const results: string[] = [];
// On a disk, because images are large and /tmp may be in memory.
const root = await mkdtemp("/var/tmp/engines-");
try {
  if (values.install) await install();
  const chosen = PARTS.filter(({ name }) => values.only === undefined || name === values.only);
  if (chosen.some((part) => part.needs.includes("podman") && missing(part).length === 0)) {
    await perform("images", async ({ say }) => {
      images = await buildImages(root, values.pull === true, say);
    });
  }
  for (const part of chosen) {
    const absent = missing(part);
    if (absent.length > 0)
      results.push(`${part.name}: DID NOT RUN, because ${absent.join(", ")} is not on this machine`);
    else await perform(part.name, part.run);
  }
} finally {
  // Podman leaves it mounted when a build fails.
  await execa("umount", ["--quiet", `${root}/podman/overlay`], { reject: false });
  await rm(root, { recursive: true, force: true });
}
for (const line of results) console.log(line);

function missing({ needs }: Part): string[] {
  return needs.filter((name) => !isHere(name));
}

function isHere(name: string): boolean {
  if (name === COMPOSE) return composeProgram() !== null;
  if (name === KUBERNETES) return existsSync(`${KUBERNETES_FOLDER}/kubelet`);
  return name.startsWith("/") ? existsSync(name) : findOnPath(name).length > 0;
}

function builtImages(): Images {
  if (images === null) throw new Error("the images were not built");
  return images;
}

/** Runs one part, and ends all that it has started. Its failure is one of the results. */
async function perform(name: string, run: (context: Context) => Promise<void>): Promise<void> {
  const started = performance.now();
  const cleanUps: (() => Promise<unknown>)[] = [];
  const say = (line: string) => console.log(`${name}: ${line}`);
  const folder = await mkdtemp(`${root}/part-`);
  let end = "ran";
  try {
    await run({ folder, say, atEnd: (cleanUp) => void cleanUps.unshift(cleanUp) });
  } catch (error) {
    console.error(error);
    end = "FAILED";
    process.exitCode = 1;
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
    await rm(folder, { recursive: true, force: true });
  }
  results.push(`${name}: ${end}, ${Math.round((performance.now() - started) / 1000)} s`);
}

/** Installs what is missing, and starts nothing of it. */
async function install(): Promise<void> {
  const environment = { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  for (const command of [["update"], ["install", "--yes", "--no-install-recommends", ...PACKAGES.split(" ")]]) {
    await execa("apt-get", ["--quiet=2", ...command], { stdio: ["ignore", "ignore", "inherit"], env: environment });
  }
  if (composeProgram() !== null) return;
  // Debian 12 has only version 1. That of Debian 13 needs nothing else.
  const archives = await downloadWithDependencies(`${root}/apt`, ["docker-compose"]);
  const archive = archives.find((path) => path.includes("/docker-compose_")) ?? "";
  await execa("dpkg-deb", ["--extract", archive, `${root}/compose`]);
  process.env.SERVICE_COMPOSE_BIN = `${root}/compose/usr/libexec/docker/cli-plugins/docker-compose`;
}
