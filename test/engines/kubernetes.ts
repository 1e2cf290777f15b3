/** The manifests on a real API server with etcd: every overlay is applied, with and without its components, and read back. */
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CHECKOUT, type Context, inNetworkOf, run, startDaemon, until } from "./part.ts";

const OVERLAYS = ["landlock", "bubblewrap"];
const NAMESPACE = "document-rendering";
const TOKEN = "a-token-of-the-engines-test";

export async function tryKubernetes({ folder, say, atEnd }: Context): Promise<void> {
  const own = join(folder, "kubernetes");
  await mkdir(own);
  await writeFile(join(own, "tokens.csv"), `${TOKEN},engines,1,system:masters\n`);
  await run(["openssl", "genrsa", "-out", join(own, "accounts.key"), "2048"]);
  const network = startDaemon([
    "unshare",
    "--net",
    "sh",
    "-c",
    "ip link set lo up && ip addr add 10.99.0.1/24 dev lo && ip route add default via 10.99.0.1 && exec sleep infinity",
  ]);
  atEnd(() => network.end("SIGKILL"));
  const etcd = startDaemon(inNetworkOf(network.pid, ["etcd", "--data-dir", join(own, "etcd"), "--log-level=error"]));
  atEnd(() => etcd.end("SIGKILL"));
  const server = startDaemon(
    inNetworkOf(network.pid, [
      "kube-apiserver",
      "--etcd-servers=http://127.0.0.1:2379",
      "--advertise-address=10.99.0.1",
      `--cert-dir=${own}`,
      `--token-auth-file=${join(own, "tokens.csv")}`,
      `--service-account-key-file=${join(own, "accounts.key")}`,
      `--service-account-signing-key-file=${join(own, "accounts.key")}`,
      "--service-account-issuer=https://engines.example",
      "--service-cluster-ip-range=10.98.0.0/24",
      "--authorization-mode=RBAC",
    ]),
  );
  atEnd(() => server.end("SIGKILL"));
  const access = ["--server=https://127.0.0.1:6443", "--insecure-skip-tls-verify", `--token=${TOKEN}`];
  const kubectl = (...options: string[]) =>
    run(inNetworkOf(network.pid, ["kubectl", ...access, ...options]), { HOME: own });
  await until("an API server", async () => (await kubectl("get", "--raw", "/readyz")) === "ok");
  await kubectl("create", "namespace", NAMESPACE);
  // Of KEDA and the Prometheus operator the API server knows nothing: their schemas are in test/service/kubernetes.test.ts.
  const manifests = join(own, "manifests");
  await cp(join(CHECKOUT, "deploy/kubernetes"), manifests, { recursive: true });
  const replicas = () =>
    kubectl("--namespace", NAMESPACE, "get", "statefulset/backend", "--output=jsonpath={.spec.replicas}");
  for (const overlay of OVERLAYS) {
    const target = join(manifests, "overlays", overlay);
    for (const name of ["edge-secrets.env", "backend-secrets.env"])
      await cp(join(manifests, `${name}.example`), join(target, name));
    const level = overlay === "landlock" ? "restricted" : "privileged";
    await kubectl("label", "--overwrite", "namespace", NAMESPACE, `pod-security.kubernetes.io/enforce=${level}`);
    const output = await kubectl("apply", "--kustomize", target);
    say(
      `overlays/${overlay}: ${output.split("\n").length} objects applied at level ${level}, ${await replicas()} backends`,
    );
  }
  // The autoscaler, on a StatefulSet that somebody else has scaled.
  await kubectl("--namespace", NAMESPACE, "scale", "statefulset/backend", "--replicas=5");
  const target = join(manifests, "overlays/landlock");
  const kustomization = join(target, "kustomization.yaml");
  const text = await readFile(kustomization, "utf8");
  await writeFile(kustomization, text.replace(/^# (components:)$/m, "$1").replace(/^# ( *- .*autoscaling)$/m, "$1"));
  const scaled = await run(["kubectl", "kustomize", target]);
  const known = scaled.split("\n---\n").filter((document) => !document.includes("keda.sh/"));
  await writeFile(join(own, "scaled.yaml"), known.join("\n---\n"));
  // As docs/deploy/kubernetes.md says.
  await kubectl(
    "--namespace",
    NAMESPACE,
    "annotate",
    "statefulset/backend",
    "kubectl.kubernetes.io/last-applied-configuration-",
  );
  await kubectl("apply", "--filename", join(own, "scaled.yaml"));
  if ((await replicas()) !== "5")
    throw new Error(`with components/autoscaling there are ${await replicas()} backends, not 5`);
  say("components/autoscaling, added to a running StatefulSet of 5 backends, leaves 5");
}
