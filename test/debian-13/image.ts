/**
 * `npm run test:image`: executes the steps of the Dockerfile without Docker in roots of Debian 13, starts the services of
 * compose.yaml from them with its environment, and sends them renders through the edge. The Dockerfile is the only source of
 * the steps and compose.yaml of the settings.
 *
 * The images of its FROM lines are not available everywhere and have stand-ins: Debian 13 with the Node of the npm package
 * `node`, and the Typst of the tests. Everything is in memory, in namespaces that end with this process; only the root of
 * Debian stays in the user's cache. It needs the superuser, because it creates files of several users.
 */
import { existsSync } from "node:fs";
import { appendFile, cp, mkdir, mkdtemp, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Copy, DockerfileParser, type Env, type From, type Instruction } from "dockerfile-ast";
import { execa } from "execa";
import { cacheFolder } from "../../backend/cache-folder.mjs";
import { findOnPath } from "../../backend/programs.mjs";
import { TYPST_VERSION } from "../../backend/typst/release.mjs";
import { locateTypst } from "../../scripts/typst-location.mjs";
import { type ComposeService, readComposeServices } from "../support/compose-file.ts";
import { downloadWithDependencies, ensureFolder, sourcesLine } from "./archive.ts";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const SELF = fileURLToPath(import.meta.url);
const INSIDE = "--inside";
/** The packages of node:…-trixie-slim that matter to the service, besides Debian's essential ones. */
const BASE_PACKAGES = ["?essential", "apt", "ca-certificates", "libatomic1"];
const API_TOKEN = "a-callers-token-of-the-image-test";
const BACKEND_TOKEN = "a-backends-token-of-the-image-test";
const READY_TIMEOUT_MILLISECONDS = 120_000;

function say(line: string): void {
  console.log(`image: ${line}`);
}

async function runInNamespaces(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("npm run test:image must be run by the superuser");
  await ensureFolder(debianRoot(), installDebian);
  const stage = await mkdtemp("/tmp/image-");
  try {
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];
    const command = [...namespaces, "--", process.execPath, SELF, INSIDE, stage];
    const { exitCode } = await execa("unshare", command, { stdio: "inherit", reject: false });
    process.exitCode = exitCode ?? 1;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

function debianRoot(): string {
  return join(cacheFolder(), "debian-13-root");
}

/** As mmdebstrap does it: unpacks all packages, then configures them with the dpkg among them. */
async function installDebian(target: string, scratch: string): Promise<void> {
  say("installing Debian 13 into the cache");
  const files = await downloadWithDependencies(scratch, BASE_PACKAGES);
  // The links /bin, /lib and /sbin come first, because other packages would create folders of these names.
  const isFirst = (file: string) => Number(basename(file).startsWith("base-files_"));
  for (const file of files.toSorted((one, other) => isFirst(other) - isFirst(one))) {
    await execa("sh", [
      "-c",
      'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"',
      "sh",
      file,
      target,
    ]);
  }
  const packages = join(target, "tmp/packages");
  await mkdir(packages);
  for (const file of files) await cp(file, join(packages, basename(file)));
  await execa("mknod", ["-m", "666", join(target, "dev/null"), "c", "1", "3"]);
  const configure = "dpkg --force-depends --install /tmp/packages/*.deb && rm -r /tmp/packages";
  await execa("chroot", [target, "/bin/sh", "-c", configure], {
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
    extendEnv: false,
  });
  await writeFile(join(target, "etc/apt/sources.list"), await sourcesLine());
}

/** One stage of the build: its root and what its instructions have set so far. */
interface Stage {
  readonly root: string;
  readonly environment: Record<string, string>;
  workingDirectory: string;
  user: string;
  command: readonly string[];
  healthCheck: readonly string[];
}

async function buildAndTry(folder: string): Promise<void> {
  await execa("mount", ["-t", "tmpfs", "-o", "mode=755", "tmpfs", folder]);
  const stages = new Map<string, Stage>();
  let stage: Stage | null = null;
  const dockerfile = DockerfileParser.parse(await readFile(join(CHECKOUT, "Dockerfile"), "utf8"));
  for (const instruction of dockerfile.getInstructions()) {
    const started = performance.now();
    if (isFrom(instruction)) {
      stage = await standIn(instruction.getImage() ?? "", join(folder, `stage-${stages.size}`));
      stages.set(instruction.getBuildStage() ?? String(stages.size), stage);
    } else if (stage !== null) await execute(instruction, stage, stages);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    say(
      `${instruction.getKeyword()} ${(instruction.getArgumentsContent() ?? "").replaceAll(/\s+/g, " ").slice(0, 90)} (${seconds} s)`,
    );
  }
  await tryServices(stages);
}

const isFrom = (instruction: Instruction): instruction is From => instruction.getKeyword() === "FROM";

/** The stand-in for an image of a FROM line. */
async function standIn(image: string, place: string): Promise<Stage> {
  const root = join(place, "root");
  const stage = { root, environment: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" } };
  const rest = { workingDirectory: "/", user: "root", command: [], healthCheck: [] };
  if (image.includes("typst")) {
    if (!image.endsWith(`:${TYPST_VERSION}`)) throw new Error(`${image} is not Typst ${TYPST_VERSION}`);
    const typst = await locateTypst();
    if ("error" in typst) throw new Error(typst.error);
    await mkdir(join(root, "bin"), { recursive: true });
    await cp(typst.path, join(root, "bin/typst"));
    say(`${image}: in its place ${typst.path}`);
    return { ...stage, ...rest };
  }
  if (!/^node:\d+\.\d+\.\d+-trixie-slim$/.test(image)) throw new Error(`nothing stands in for ${image}`);
  for (const name of ["root", "upper", "work"]) await mkdir(join(place, name), { recursive: true });
  const layers = `lowerdir=${debianRoot()},upperdir=${join(place, "upper")},workdir=${join(place, "work")}`;
  await execa("mount", ["-t", "overlay", "-o", layers, "overlay", root]);
  await execa("mount", ["-t", "proc", "proc", join(root, "proc")]);
  for (const name of ["dev", "sys"]) await execa("mount", ["--rbind", `/${name}`, join(root, name)]);
  await cp("/etc/resolv.conf", join(root, "etc/resolv.conf"), { dereference: true });
  await appendFile(join(root, "etc/passwd"), "node:x:1000:1000::/home/node:/bin/bash\n");
  await appendFile(join(root, "etc/group"), "node:x:1000:\n");
  await cp(process.execPath, join(root, "usr/local/bin/node"), { dereference: true });
  await installNpm(root);
  const wanted = /^node:([\d.]+)-/.exec(image)?.[1];
  if (process.versions.node !== wanted) throw new Error(`this is Node ${process.version}, not ${wanted}`);
  say(`${image}: in its place Debian 13 with Node ${process.version} of the npm package, and the npm of this machine`);
  return { ...stage, ...rest };
}

async function installNpm(root: string): Promise<void> {
  const [npm] = findOnPath("npm");
  if (npm === undefined) throw new Error("npm is not on PATH");
  const source = dirname(dirname(await realpath(npm)));
  await cp(source, join(root, "usr/local/lib/npm"), { recursive: true });
  // The packages are there already: those of this checkout were installed from it.
  const cache = await npmSetting("cache");
  await mkdir(cache, { recursive: true });
  await mkdir(join(root, "root/.npm"), { recursive: true });
  await execa("mount", ["--bind", cache, join(root, "root/.npm")]);
  await execa("ln", ["-s", "../lib/npm/bin/npm-cli.js", join(root, "usr/local/bin/npm")]);
}

/** Executes one instruction. An unknown one is an error, so that nothing is skipped silently. */
async function execute(instruction: Instruction, stage: Stage, stages: ReadonlyMap<string, Stage>): Promise<void> {
  const keyword = instruction.getKeyword();
  const text = instruction.getArgumentsContent() ?? "";
  switch (keyword) {
    case "WORKDIR":
      stage.workingDirectory = resolve(stage.workingDirectory, text);
      await mkdir(join(stage.root, stage.workingDirectory), { recursive: true });
      return;
    case "COPY":
      return copy(instruction as Copy, stage, stages);
    case "RUN":
      await execa("chroot", inside(stage, ["/bin/sh", "-c", text], await npmEnvironment(stage.root)));
      return;
    case "USER":
      stage.user = text;
      return;
    case "ENV":
      for (const property of (instruction as Env).getProperties()) {
        stage.environment[property.getName()] = property.getValue() ?? "";
      }
      return;
    case "HEALTHCHECK":
      stage.healthCheck = stringsOf(text.slice(text.indexOf("CMD") + "CMD".length));
      return;
    case "CMD":
      stage.command = stringsOf(text);
      return;
    case "EXPOSE":
      return;
    default:
      throw new Error(`the Dockerfile has an instruction that this test does not know: ${keyword}`);
  }
}

/** The arguments of a command in its JSON form, which starts no shell. */
function stringsOf(text: string): string[] {
  const strings: unknown = JSON.parse(text);
  if (Array.isArray(strings) && strings.every((one): one is string => typeof one === "string")) return strings;
  throw new Error(`not the JSON form of a command: ${text}`);
}

async function copy(instruction: Copy, stage: Stage, stages: ReadonlyMap<string, Stage>): Promise<void> {
  const from = instruction.getFromFlag()?.getValue();
  const source = from === undefined || from === null ? CHECKOUT : stages.get(from)?.root;
  if (source === undefined) throw new Error(`COPY names no stage: ${from}`);
  const paths = instruction.getArguments().map((argument) => argument.getValue());
  const target = paths.pop() ?? "";
  const place = join(stage.root, resolve(stage.workingDirectory, target));
  const isFolder = target.endsWith("/") || paths.length > 1;
  for (const path of paths) {
    const origin = join(source, path);
    const isDirectory = (await stat(origin)).isDirectory();
    const goal = isFolder && !isDirectory ? join(place, basename(path)) : place;
    await mkdir(isDirectory ? goal : dirname(goal), { recursive: true });
    await execa("cp", ["--recursive", "--preserve=mode,links", ...(isDirectory ? [`${origin}/.`] : [origin]), goal]);
  }
}

/** The arguments of chroot(8) that run a command with exactly the user, folder and environment of the stage. */
function inside(
  { root, user, workingDirectory, environment }: Stage,
  command: readonly string[],
  more: Readonly<Record<string, string>> = {},
): string[] {
  const variables = Object.entries({ ...environment, ...more }).map(([name, value]) => `${name}=${value}`);
  const home = `HOME=${user === "root" ? "/root" : "/home/node"}`;
  const userAndGroup = user.includes(":") ? user : `${user}:${user}`;
  return [`--userspec=${userAndGroup}`, root, "env", "-i", "-C", workingDirectory, home, ...variables, ...command];
}

/** The machine's package sources and their certificates, without any tokens. */
async function npmEnvironment(root: string): Promise<Record<string, string>> {
  const registry = await npmSetting("registry");
  const trusted = process.env.NODE_EXTRA_CA_CERTS ?? (await npmSetting("cafile"));
  const settings = { npm_config_registry: registry, npm_config_prefer_offline: "true" };
  if (!trusted || trusted === "null") return settings;
  await cp(trusted, join(root, "tmp/trusted.pem"), { dereference: true });
  return { ...settings, NODE_EXTRA_CA_CERTS: "/tmp/trusted.pem" };
}

async function npmSetting(name: string): Promise<string> {
  const { stdout } = await execa("npm", ["config", "get", name], { cwd: CHECKOUT, stderr: "ignore" });
  return stdout.trim();
}

interface Container {
  readonly name: string;
  readonly stage: Stage;
  readonly ended: Promise<{ readonly exitCode?: number }>;
  /** Runs a command as `docker exec` does. */
  ask(
    ...command: string[]
  ): Promise<{ readonly exitCode?: number; readonly stdout?: unknown; readonly stderr?: unknown }>;
  stop(): Promise<void>;
}

/** SIOCSIFFLAGS of <linux/sockios.h>: the loopback interface of a new network is down. */
const RAISE_LOOPBACK =
  'use Socket; socket(S, AF_INET, SOCK_DGRAM, 0); my $up = pack("a16sx14", "lo", 1); ioctl(S, 0x8914, $up) or die $!; exec @ARGV';

/** Mounts the root read-only with a tmpfs where the file says so, then runs the rest of the arguments. */
const CONFINE = `
set -eu
root=$1 tmpfs=$2
shift 2
mount --rbind "$root" "$root"
mount -o remount,bind,ro "$root"
[ -z "$tmpfs" ] || mount -t tmpfs -o "\${tmpfs#*:}" tmpfs "$root\${tmpfs%%:*}"
exec "$@"`;

/** Starts the services of compose.yaml, renders through the edge, stops one backend, renders again, and stops the rest. */
async function tryServices(stages: ReadonlyMap<string, Stage>): Promise<void> {
  const services = await readComposeServices({
    SERVICE_API_TOKENS: `image-test:${API_TOKEN}`,
    SERVICE_BACKEND_TOKEN: BACKEND_TOKEN,
    SERVICE_BACKEND_TOKENS: BACKEND_TOKEN,
  });
  const names = Object.keys(services);
  // The containers share one network here. So each listens at an address of its own, which the edge finds by its name.
  const addresses = new Map(names.map((name, index) => [name, `127.0.1.${index + 1}`]));
  for (const { root } of stages.values()) {
    const lines = [...addresses].map(([name, address]) => `${address} ${name}\n`);
    if (existsSync(join(root, "etc"))) await writeFile(join(root, "etc/hosts"), lines.join(""));
  }
  const network = execa("unshare", ["--net", "perl", "-e", RAISE_LOOPBACK, "--", "sleep", "infinity"], {
    reject: false,
  });
  const containers: Container[] = [];
  try {
    for (const [name, service] of Object.entries(services)) {
      const stage = stages.get(service.build.target);
      if (stage === undefined) throw new Error(`the Dockerfile has no target ${service.build.target}`);
      containers.push(startContainer(name, stage, service, addresses.get(name) ?? "", network.pid));
    }
    for (const { name, stage, ask } of containers)
      await untilHealthy(name, () => ask(...healthCheckAt(stage, addresses.get(name))));
    const [edge, ...backends] = containers;
    const [first] = backends;
    if (edge === undefined || first === undefined) throw new Error("compose.yaml has no edge and backends");
    for (const container of containers) await expectReadOnly(container);
    await render(edge, "POST /v1/render through the edge");
    await first.stop();
    for (let count = 0; count < 5; count++) await render(edge, `the same without ${first.name}`);
  } finally {
    await Promise.allSettled(containers.map(({ stop }) => stop()));
    network.kill("SIGKILL");
  }
  for (const { name, stage, ended } of containers) {
    const { exitCode } = await ended;
    if (exitCode !== 0) throw new Error(`on SIGTERM ${name} ended with ${exitCode}`);
    say(`on SIGTERM ${name} ended with 0; it ran as ${stage.user}, with a read-only root`);
  }
}

function startContainer(
  name: string,
  stage: Stage,
  { environment, tmpfs }: ComposeService,
  address: string,
  networkPid: number | undefined,
): Container {
  const enter = [`--net=/proc/${networkPid}/ns/net`];
  const settings = { ...environment, ...(stage.environment.SERVICE_HOST !== undefined && { SERVICE_HOST: address }) };
  const command = ["chroot", ...inside(stage, stage.command, settings)];
  const confined = ["unshare", "--mount", "sh", "-c", CONFINE, "sh", stage.root, tmpfs[0] ?? "", ...command];
  // nsenter, unshare, sh, chroot and env each exec the next, so the started process becomes the service.
  const service = execa("nsenter", [...enter, ...confined], {
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    reject: false,
  });
  const ask = (...request: string[]) =>
    execa("nsenter", [`--mount=/proc/${service.pid}/ns/mnt`, ...enter, "chroot", ...inside(stage, request)], {
      reject: false,
    });
  const stop = async () => {
    service.kill("SIGTERM");
    await service;
  };
  return { name, stage, ended: service, ask, stop };
}

/** The image's own health check, at the address that the service has here. */
function healthCheckAt(stage: Stage, address = ""): string[] {
  const isBackend = stage.environment.SERVICE_HOST !== undefined;
  return stage.healthCheck.map((part) => (isBackend ? part.replace("127.0.0.1", address) : part));
}

async function untilHealthy(name: string, check: () => Promise<{ readonly exitCode?: number }>): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MILLISECONDS;
  while (performance.now() < deadline) {
    if ((await check()).exitCode === 0) return say(`HEALTHCHECK of ${name}: healthy`);
    await delay(200);
  }
  throw new Error(`the health check of ${name} never succeeded`);
}

async function expectReadOnly({ name, ask }: Container): Promise<void> {
  const { stderr } = await ask("node", "-e", 'require("node:fs").writeFileSync("/etc/hosts", "")');
  if (!String(stderr).includes("EROFS")) throw new Error(`${name} can write to its root: ${stderr}`);
}

async function render({ ask }: Container, what: string): Promise<void> {
  const { exitCode, stdout, stderr } = await ask("node", "-e", RENDER);
  if (exitCode !== 0) throw new Error(`${what}: ${stdout} ${stderr}`);
  say(`${what}: ${stdout}`);
}

/** A render through the edge, as a program for Node inside an image. */
const RENDER = `fetch("http://127.0.0.1:8787/v1/render", {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-Service-Api-Token": "${API_TOKEN}" },
  body: JSON.stringify({ source: "= Hello" }),
}).then(async (answer) => {
  const bytes = Buffer.from(await answer.arrayBuffer());
  console.log(answer.status, answer.headers.get("Content-Type"), bytes.length, "bytes");
  process.exit(answer.status === 200 && bytes.subarray(0, 5).toString() === "%PDF-" ? 0 : 1);
})`;

const [option, folder] = process.argv.slice(2);
if (option === INSIDE && folder !== undefined) await buildAndTry(folder);
else await runInNamespaces();
