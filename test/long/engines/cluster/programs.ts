/** The programs of a Kubernetes with one node: built once from their Go modules, and kept in the user's cache. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { cacheFolder } from "../../../../typst/cache-folder.mjs";

const SOURCES = fileURLToPath(new URL(".", import.meta.url));
/** The module of `go.mod`, and its programs. */
const MODULE = ["go.mod", "node", "coredns", "pause"];
const NAMES_OF_NODE = "kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet".split(" ");
/** Debian 12 has older ones, which give a pod no user namespace. */
const CONTAINERD = "2.2.1";
const RUNC = "1.4.1";
const HASH_DIGITS = 12;

/** Where they are, once they are built: a changed version has a folder of its own. */
export const KUBERNETES_FOLDER = join(cacheFolder(), `kubernetes-${hashOfSources()}`);

/** Takes a quarter of an hour of processor time. It needs Go, a C compiler and the headers of libseccomp. */
export async function buildPrograms(say: (line: string) => void): Promise<void> {
  const target = KUBERNETES_FOLDER;
  if (existsSync(target)) return;
  // runc is built last, and needs them.
  if ((await execa("pkg-config", ["--exists", "libseccomp"], { reject: false })).exitCode !== 0) {
    throw new Error("The headers of libseccomp are missing. On Debian: apt-get install gcc pkg-config libseccomp-dev");
  }
  const work = `${target}.work`;
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, "bin"), { recursive: true });
  for (const name of MODULE) await cp(join(SOURCES, name), join(work, name), { recursive: true });
  const version = /k8s\.io\/kubernetes v(\S+)/.exec(await readFile(join(SOURCES, "go.mod"), "utf8"))?.[1] ?? "";
  const [major = "", minor = ""] = version.split(".");
  const kubernetes = Object.entries({ gitVersion: `v${version}`, gitMajor: major, gitMinor: minor });
  const containerd = "github.com/containerd/containerd/v2";
  const common = { work, needsC: false, say };
  await compile({
    what: `Kubernetes ${version} and CoreDNS`,
    command: ["build", "-mod=mod", "-o", join(work, "bin/")],
    constants: kubernetes.map(([name, value]) => `k8s.io/component-base/version.${name}=${value}`),
    programs: ["./node", "./coredns", "./pause"],
    ...common,
  });
  for (const name of NAMES_OF_NODE) await symlink("node", join(work, "bin", name));
  await compile({
    what: `containerd ${CONTAINERD}`,
    command: ["install", "-tags=no_btrfs,no_devmapper,no_zfs"],
    constants: [`${containerd}/version.Version=${CONTAINERD}`],
    programs: ["containerd", "containerd-shim-runc-v2", "ctr"].map(
      (name) => `${containerd}/cmd/${name}@v${CONTAINERD}`,
    ),
    ...common,
  });
  await compile({
    what: `runc ${RUNC}`,
    command: ["install", "-tags=seccomp"],
    constants: [`main.version=${RUNC}`],
    programs: [`github.com/opencontainers/runc@v${RUNC}`],
    ...common,
    // It prepares namespaces before Go starts.
    needsC: true,
  });
  await rename(join(work, "bin"), target);
  await rm(work, { recursive: true, force: true });
  say(`kept in ${target}: ${(await readdir(target)).join(" ")}`);
}

function hashOfSources(): string {
  const hash = createHash("sha256").update(`${CONTAINERD} ${RUNC}`);
  for (const name of MODULE) hash.update(readFileSync(join(SOURCES, name, name.includes(".") ? "" : "main.go")));
  return hash.digest("hex").slice(0, HASH_DIGITS);
}

interface Compilation {
  readonly what: string;
  readonly command: readonly string[];
  /** What the linker writes into the programs, such as their version. */
  readonly constants: readonly string[];
  readonly programs: readonly string[];
  readonly needsC: boolean;
  readonly work: string;
  readonly say: (line: string) => void;
}

async function compile({ what, command, constants, programs, needsC, work, say }: Compilation): Promise<void> {
  const started = performance.now();
  const flags = ["-trimpath", `-ldflags=${["-s", "-w", ...constants.map((each) => `-X ${each}`)].join(" ")}`];
  const env = { CGO_ENABLED: needsC ? "1" : "0", GOBIN: join(work, "bin"), GOFLAGS: "" };
  const options = { cwd: work, env, stdin: "ignore", stdout: "ignore" } as const;
  await execa("go", [...command, ...flags, ...programs], options);
  say(`${what}: built in ${Math.round((performance.now() - started) / 1000)} s`);
}
