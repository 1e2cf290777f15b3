/** compose.yaml on a Docker daemon of its own, behind the real nginx; and the image `all-in-one`. */
import { existsSync } from "node:fs";
import { copyFile, cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { stringify } from "yaml";
import { type Images, imageName, TARGETS } from "./images.ts";
import { startNginx } from "./nginx.ts";
import {
  CHECKOUT,
  type Context,
  curl,
  expectNoLoss,
  inNetworkOf,
  renderOptions,
  run,
  startDaemon,
  startLoad,
  TOKEN_VARIABLES,
  until,
} from "./part.ts";
import { PROXY_URL } from "./proxy.ts";

const DAEMON =
  'ip link set lo up && exec dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" --host "unix://$1/sock"';
/** Two versions, of the same images. */
const VERSIONS = ["1.9.0", "1.10.0"] as const;

interface Docker {
  /** The daemon, in whose network the ports are published. */
  readonly pid: number;
  readonly docker: (...options: readonly string[]) => Promise<string>;
  /** Runs compose in a folder with compose.yaml, the folder deploy and `.env`. */
  readonly compose: (...options: readonly string[]) => Promise<string>;
  /** Runs `deploy/roll.sh compose` there. */
  readonly roll: (version: string) => Promise<string>;
}

/** The daemon and all that it makes are in a network and below a folder of their own. */
export async function startDocker({ archive }: Images, { folder, atEnd }: Context): Promise<Docker> {
  const own = join(folder, "docker");
  await mkdir(own);
  const inOwnNetwork = ["--net", "--mount", "--propagation", "private"];
  const daemon = startDaemon(["unshare", ...inOwnNetwork, "sh", "-c", DAEMON, "sh", own]);
  atEnd(() => daemon.end("SIGTERM"));
  const environment = { DOCKER_HOST: `unix://${own}/sock`, HOME: own };
  const docker = (...options: readonly string[]) => run(["docker", ...options], environment);
  await until("a Docker daemon", () => docker("info").then(() => true));
  await docker("load", "--quiet", "--input", archive);
  for (const target of TARGETS) {
    for (const tag of ["latest", ...VERSIONS]) {
      await docker("tag", `localhost/${imageName(target)}`, `${imageName(target)}:${tag}`);
    }
  }
  const project = join(folder, "project");
  await cp(join(CHECKOUT, "deploy"), join(project, "deploy"), { recursive: true });
  await copyFile(join(CHECKOUT, "compose.yaml"), join(project, "compose.yaml"));
  const variables = { ...TOKEN_VARIABLES, IMAGE_TAG: VERSIONS[0], HOST_NAME: "engines" };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(project, ".env"), lines.join(""), { mode: 0o600 });
  // Where `docker compose` finds it, of the user whose folder this is.
  await mkdir(join(own, ".docker/cli-plugins"), { recursive: true });
  await symlink(composeProgram() ?? "", join(own, ".docker/cli-plugins/docker-compose"));
  return {
    pid: daemon.pid,
    docker,
    compose: (...options) => run(["docker", "compose", "--project-directory", project, ...options], environment),
    roll: (version) => run([join(project, "deploy/roll.sh"), "compose", version], environment),
  };
}

/** Compose of version 2, which is a plug-in of Docker: SERVICE_COMPOSE_BIN, or where the packages put it. */
export function composeProgram(): string | null {
  const folders = ["/usr/local/lib", "/usr/local/libexec", "/usr/lib", "/usr/libexec"];
  const places = folders.map((folder) => `${folder}/docker/cli-plugins/docker-compose`);
  return process.env.SERVICE_COMPOSE_BIN || (places.find((path) => existsSync(path)) ?? null);
}

export async function tryCompose({ pid, docker, compose, roll }: Docker, context: Context): Promise<void> {
  const { say } = context;
  await compose("up", "--detach", "--no-build", "--wait");
  say("up: all four services are healthy");
  await startNginx(pid, context);
  const [first, second] = VERSIONS;
  for (const version of [second, first, second]) {
    const load = await startLoad(pid, PROXY_URL, 500);
    const order = (await roll(version)).replaceAll("\n", ", ");
    await expectNoLoss(load, `deploy/roll.sh compose ${version}, behind nginx (${order})`, say);
    const images = new Set((await docker("ps", "--format", "{{.Image}}")).split("\n"));
    const wanted = new Set([`document-rendering-backend:${version}`, `document-rendering-edge:${version}`]);
    if (images.symmetricDifference(wanted).size > 0) throw new Error(`not ${version}: ${[...images].join(", ")}`);
  }
  const names = (await docker("ps", "--format", "{{.Names}}")).split("\n");
  const victim = names.find((name) => name.includes("backend-2")) ?? "";
  const underKill = await startLoad(pid, PROXY_URL, 100);
  await docker("kill", "--signal", "KILL", victim);
  await expectNoLoss(underKill, "kill -9 of a backend", say);
  await compose("stop");
  const ends = await docker("ps", "--all", "--format", "{{.Names}} {{.Status}}");
  const unclean = ends.split("\n").filter((line) => !line.includes("Exited (0)") && !line.includes("backend-2"));
  if (unclean.length > 0) throw new Error(`not ended with 0: ${unclean.join(", ")}`);
  say("stop: every service ends with 0");
  const files = ["compose.yaml", "deploy/compose.bubblewrap.yaml", await writeFewProcesses(context)];
  const layers = files.flatMap((file) => ["--file", resolve(context.folder, "project", file)]);
  await compose(...layers, "up", "--detach", "--no-build", "--wait");
  const ask = async (service: string, program: string) => {
    const container = (await docker("ps", "--quiet", "--filter", `name=${service}`)).trim();
    return docker("exec", container, "node", "-e", program);
  };
  const answer = await curl(pid, `${PROXY_URL}/v1/render`, ...renderOptions("= Hello"));
  if (answer.status !== 200 || !answer.body.startsWith("%PDF-")) throw new Error(`bubblewrap: ${answer.status}`);
  if (!(await ask("backend-1", HEALTH)).includes('"bubblewrap"')) throw new Error("not in bubblewrap");
  const many = await startLoad(pid, PROXY_URL, MANY_RENDERS);
  const during = `compose.bubblewrap.yaml: ${MANY_RENDERS} renders, at most ${MAX_PROCESSES} processes in a container`;
  await expectNoLoss(many, during, say);
  for (const [service, title] of [
    ["backend-1", "with the image's init"],
    ["backend-2", "with the engine's as well"],
  ] as const) {
    const count = Number(await ask(service, PROCESSES));
    // Every second render would have left one.
    if (!(count > 0 && count < 50)) throw new Error(`${count} processes in ${service}, ${title}`);
    say(`after them ${count} processes ${title}`);
  }
  await compose("down", "--volumes");
}

/** Far fewer than renders, so that nothing may be left of these. */
const MAX_PROCESSES = 128;
const MANY_RENDERS = 2000;

/** Lowers the limits of the backends; one of them also gets the engine's init. */
async function writeFewProcesses({ folder }: Context): Promise<string> {
  const path = join(folder, "few-processes.yaml");
  const service = { pids_limit: MAX_PROCESSES };
  await writeFile(path, stringify({ services: { "backend-1": service, "backend-2": { ...service, init: true } } }));
  return path;
}

const PROCESSES = `fetch("http://127.0.0.1:8788/metrics").then(async (answer) => console.log(/^service_processes (\\d+)/m.exec(await answer.text())[1]))`;
const HEALTH = 'fetch("http://127.0.0.1:8788/health").then(async (answer) => console.log(await answer.text()))';

/** As in the README. */
const RUN = "docker run --rm -p 127.0.0.1:8787:8787 document-rendering-all-in-one";

/** The image `all-in-one`: runs the command line that it prints, waits until it is healthy, and stops it. */
export async function tryAllInOne({ pid, docker }: Docker, { say }: Context): Promise<void> {
  const started = performance.now();
  const [, ...options] = RUN.split(" ");
  const id = await docker("run", "--detach", ...options.slice(1));
  const line = async () => /^curl .*$/m.exec(await docker("logs", id))?.[0] ?? "";
  await until("the command line that it prints", async () => (await line()) !== "");
  const command = (await line()).replace("-o hello.pdf ", "");
  const document = await run(inNetworkOf(pid, ["sh", "-c", `${command} | head -c 5`]));
  if (document !== "%PDF-") throw new Error(`the command line printed by all-in-one made ${document}`);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const health = () => docker("inspect", "--format", "{{.State.Health.Status}}", id);
  await until("a healthy container", async () => (await health()) === "healthy");
  const ended = docker("wait", id);
  await docker("stop", id);
  if ((await ended) !== "0") throw new Error(`on SIGTERM all-in-one ended with ${await ended}`);
  say(`from docker run to a PDF by the line that it prints: ${seconds} s (goal: 5); healthy; stops with 0`);
}
