/**
 * A Kubernetes with one node. It has a network, mounts and processes of its own: the end of its first process is the
 * end of everything in it. It needs the superuser, and nothing that a container of version 1 of cgroups does not have.
 */
import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import type { Images } from "../images.ts";
import { type Command, type Context, run, startDaemon, until } from "../part.ts";

/** The programs of Kubernetes, containerd, runc and CoreDNS: CONTRIBUTING.md#engines lists them. */
export const KUBERNETES_FOLDER = process.env.SERVICE_KUBERNETES_BIN ?? "";

const NODE_ADDRESS = "10.201.0.2";
const PODS = "10.244.0.0/24";
const SERVICES = "10.96.0.0/16";
const DNS_ADDRESS = "10.96.0.10";
const CONTAINERD = "/run/containerd/containerd.sock";
/** Where Debian has the plug-ins of the container network. */
const NETWORK_PLUGINS = "/usr/lib/cni";
export const NETWORK_PLUGIN = `${NETWORK_PLUGINS}/bridge`;
const TOKEN = "a-token-of-the-engines-test";
const PAUSE = "localhost/pause:1";

/** Everything that a program of the node writes below /var and /run goes to a folder of the test, or to memory. */
const PREPARE_NODE = `
set -e
mount --make-rshared /
mount -t proc proc /proc
mount --bind "$1/lib" /var/lib
mount --bind "$1/log" /var/log
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add node0 type bridge
ip addr add ${NODE_ADDRESS}/24 dev node0
ip link set node0 up
ip route add default via 10.201.0.1 dev node0
for name in ip_forward conf.all.route_localnet; do echo 1 > "/proc/sys/net/ipv4/$(echo $name | tr . /)"; done
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
hostname node
exec "$2/pause"`;

export interface Cluster {
  /** The first process of the node. */
  readonly pid: number;
  /** A command in the node, where `kubectl` is that of the cluster and may do everything. */
  readonly inNode: (...command: Command) => Command;
  readonly kubectl: (...options: readonly string[]) => Promise<string>;
  /** The name of the cgroup that has all pods, in each hierarchy. */
  readonly cgroup: string;
  readonly ctr: (...options: readonly string[]) => Promise<string>;
}

export async function startCluster(images: Images, { folder, say, atEnd }: Context): Promise<Cluster> {
  const started = performance.now();
  const own = join(folder, "cluster");
  for (const name of ["lib", "log", "files"]) await mkdir(join(own, name), { recursive: true });
  const cgroup = `engines-${process.pid}`;
  const cgroups = await makeCgroups(cgroup);
  atEnd(() => removeCgroups(cgroups));
  const namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--propagation", "private"];
  const prepare = ["sh", "-c", PREPARE_NODE, "sh", own, KUBERNETES_FOLDER];
  const node = startDaemon(["unshare", ...namespaces, "--kill-child", ...prepare]);
  let pid = Number.NaN;
  atEnd(async () => {
    if (pid > 0) await execa("kill", ["-KILL", String(pid)], { reject: false });
    await node.end("SIGKILL");
  });
  await until("the first process of a node", async () => {
    pid = Number.parseInt(await readFile(`/proc/${node.pid}/task/${node.pid}/children`, "utf8"), 10);
    return (await readFile(`/proc/${pid}/comm`, "utf8")) === "pause\n";
  });
  const environment = [
    `PATH=${KUBERNETES_FOLDER}:/usr/sbin:/usr/bin:/sbin:/bin`,
    `KUBECONFIG=${join(own, "files/access")}`,
  ];
  const inNode = (...command: Command) => {
    const namespaces = ["--net", "--mount", "--uts", "--ipc", "--pid"];
    return ["nsenter", `--target=${pid}`, ...namespaces, "env", ...environment, ...command] as const;
  };
  const kubectl = (...options: readonly string[]) => run(inNode("kubectl", ...options));
  const ctr = (...options: readonly string[]) =>
    run(inNode("ctr", `--address=${CONTAINERD}`, "--namespace=k8s.io", ...options));
  const start = (...command: Command) => {
    const log = join(own, "log", `${command[0]}.log`);
    const daemon = startDaemon(inNode("sh", "-c", 'exec "$@" > "$0" 2>&1', log, ...command));
    atEnd(() => daemon.end("SIGKILL"));
  };
  await writeFiles(join(own, "files"), cgroup);
  startControlPlane(join(own, "files"), start);
  start("containerd", `--config=${join(own, "files/containerd.toml")}`);
  await until("an API server", async () => (await kubectl("get", "--raw", "/readyz")) === "ok");
  await until("containerd", () => ctr("version").then(() => true));
  await importImages(images, own, ctr);
  const configuration = [`--config=${join(own, "files/kubelet")}`, `--kubeconfig=${join(own, "files/access")}`];
  start("kubelet", ...configuration, `--node-ip=${NODE_ADDRESS}`);
  await kubectl("apply", "--filename", fileURLToPath(new URL("dns.yaml", import.meta.url)));
  await until("a node that is ready", () => kubectl("wait", "--for=condition=Ready", "node/node").then(() => true));
  await kubectl("--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s");
  const info = "{.items[0].status.nodeInfo.kubeletVersion} {.items[0].status.nodeInfo.containerRuntimeVersion}";
  const versions = await kubectl("get", "nodes", `--output=jsonpath=${info}`);
  say(`one node is ready after ${Math.round((performance.now() - started) / 1000)} s: ${versions}`);
  return { pid, inNode, kubectl, ctr, cgroup };
}

/** Each program may do everything, because nothing but the test can reach them. */
async function writeFiles(files: string, cgroupRoot: string): Promise<void> {
  const write = (name: string, content: unknown) =>
    writeFile(join(files, name), typeof content === "string" ? content : JSON.stringify(content));
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  await write("accounts.key", privateKey);
  await write("tokens.csv", `${TOKEN},engines,1,system:masters\n`);
  await write("resolv.conf", "nameserver 10.201.0.1\n");
  await write("access", {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "node", cluster: { server: `https://${NODE_ADDRESS}:6443`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "engines", user: { token: TOKEN } }],
    contexts: [{ name: "node", context: { cluster: "node", user: "engines" } }],
    "current-context": "node",
  });
  await write("kubelet", {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroupRoot}`,
    failCgroupV1: false,
    failSwapOn: false,
    // Lower needs a capability that a superuser in a container may not have.
    oomScoreAdj: 0,
    containerRuntimeEndpoint: `unix://${CONTAINERD}`,
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: "cluster.local",
    resolvConf: join(files, "resolv.conf"),
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    // The disk is that of the machine, however full.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  });
  await mkdir(join(files, "net.d"));
  await write("net.d/10-pods.conflist", {
    cniVersion: "1.0.0",
    name: "pods",
    plugins: [
      {
        type: "bridge",
        bridge: "cni0",
        isGateway: true,
        hairpinMode: true,
        ipam: { type: "host-local", ranges: [[{ subnet: PODS }]], routes: [{ dst: "0.0.0.0/0" }] },
      },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  });
  await write("containerd.toml", containerdSettings(join(files, "net.d")));
}

const containerdSettings = (networks: string) => `
version = 3
oom_score = 0
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${PAUSE}"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["${NETWORK_PLUGINS}"]
    conf_dir = "${networks}"
`;

function startControlPlane(files: string, start: (...command: Command) => void): void {
  const access = `--kubeconfig=${join(files, "access")}`;
  start("etcd", "--data-dir=/var/lib/etcd", "--log-level=error", "--unsafe-no-fsync");
  start(
    "kube-apiserver",
    "--etcd-servers=http://127.0.0.1:2379",
    `--advertise-address=${NODE_ADDRESS}`,
    `--cert-dir=${files}`,
    `--token-auth-file=${join(files, "tokens.csv")}`,
    `--service-account-key-file=${join(files, "accounts.key")}`,
    `--service-account-signing-key-file=${join(files, "accounts.key")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-cluster-ip-range=${SERVICES}`,
    "--authorization-mode=RBAC",
    "--kubelet-preferred-address-types=InternalIP",
  );
  start(
    "kube-controller-manager",
    access,
    `--service-account-private-key-file=${join(files, "accounts.key")}`,
    `--root-ca-file=${join(files, "apiserver.crt")}`,
    "--leader-elect=false",
    `--cluster-cidr=${PODS}`,
  );
  start("kube-scheduler", access, "--leader-elect=false");
  // A container may not change what the whole machine remembers of connections.
  const remembered = ["max-per-core", "tcp-timeout-established", "tcp-timeout-close-wait"].map(
    (name) => `--conntrack-${name}=0`,
  );
  start("kube-proxy", access, "--proxy-mode=iptables", `--cluster-cidr=${PODS}`, "--oom-score-adj=0", ...remembered);
}

/** The images of the service, and those of the cluster, which are one program each. */
async function importImages({ podman, archive }: Images, own: string, ctr: Cluster["ctr"]): Promise<void> {
  const archives = [archive];
  for (const [name, tag] of [
    ["pause", PAUSE],
    ["coredns", "localhost/coredns:1"],
  ] as const) {
    const context = join(own, name);
    await mkdir(context);
    await cp(join(KUBERNETES_FOLDER, name), join(context, name));
    await writeFile(join(context, "Dockerfile"), `FROM scratch\nCOPY ${name} /${name}\nENTRYPOINT ["/${name}"]\n`);
    await run(podman("build", "--tag", tag, context));
    await run(podman("save", "--quiet", "--output", `${context}.tar`, tag));
    archives.push(`${context}.tar`);
  }
  for (const each of archives) await ctr("images", "import", each);
}

/** Version 2 is one hierarchy; version 1 has one for each controller, perhaps beside an empty one of version 2. */
async function makeCgroups(name: string): Promise<string[]> {
  const base = "/sys/fs/cgroup";
  const places = [base, ...(await readdir(base)).map((each) => join(base, each))];
  const isHierarchy = (place: string) => existsSync(join(place, "cgroup.procs"));
  const hierarchies = isHierarchy(base) ? [base] : places.filter(isHierarchy);
  const folders = hierarchies.map((hierarchy) => join(hierarchy, name));
  for (const folder of folders) await mkdir(folder);
  return folders;
}

/** They are empty as soon as the kernel has done with the processes of the node. */
async function removeCgroups(folders: readonly string[]): Promise<void> {
  const remove = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.isDirectory()) await remove(join(folder, entry.name));
    }
    await rmdir(folder);
  };
  for (const folder of folders) await until(`an end of ${folder}`, () => remove(folder).then(() => true));
}
