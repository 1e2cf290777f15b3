/**
 * The manifests on a Kubernetes with one node: each overlay as its page says, and under load what happens to pods in a
 * cluster.
 */
import { join } from "node:path";
import { array, object, parse, string } from "valibot";
import { type Cluster, startCluster } from "./cluster/cluster.ts";
import { DISTURBANCES, type Disturbance } from "./cluster/disturbances.ts";
import { PAGE, Service } from "./cluster/service.ts";
import type { Images } from "./images.ts";
import { type Context, curl, expectNoLoss, renderOptions, run, startDaemon, startLoad, until } from "./part.ts";

/** How many renders the clients send at least while something happens. */
const RENDERS = 200;
/** The objects of KEDA and of the Prometheus operator, which nothing acts upon here. */
const FOREIGN = [
  { group: "keda.sh", version: "v1alpha1", kind: "ScaledObject" },
  { group: "monitoring.coreos.com", version: "v1", kind: "ServiceMonitor" },
];

export async function tryKubernetes(images: Images, context: Context): Promise<void> {
  const cluster = await startCluster(images, context);
  for (const overlay of ["landlock", "bubblewrap"] as const) {
    const say = (line: string) => context.say(`overlays/${overlay}: ${line}`);
    const service = await Service.deploy(cluster, overlay, join(context.folder, overlay));
    say(`deployed by the commands of ${PAGE}`);
    await tryFirstRequest(service, say);
    for (const disturbance of DISTURBANCES) await tryDisturbance(disturbance, service, say);
    await expectNothingLeft(cluster);
    if (overlay === "landlock") await tryComponents(service, say);
    await service.remove();
    await expectNothingLeft(cluster);
    say("nothing is left of its pods");
  }
}

/** The last step of the page. */
async function tryFirstRequest(service: Service, say: Context["say"]): Promise<void> {
  const command = service.commandWith("port-forward");
  const forward = startDaemon(service.cluster.inNode("sh", "-c", `exec ${command}`));
  try {
    const render = () => curl(service.cluster.pid, "http://127.0.0.1:8787/v1/render", ...renderOptions("= Hello"));
    await until("a render by port-forward", async () => (await render()).status === 200);
  } finally {
    await forward.end("SIGTERM");
  }
  say(`${command}: renders`);
}

async function tryDisturbance(disturbance: Disturbance, service: Service, say: Context["say"]): Promise<void> {
  const { what, endsEdges = false, run } = disturbance;
  const load = await startLoad(service.cluster.pid, await service.url(), RENDERS, endsEdges ? "new" : "kept");
  await run(service);
  await service.untilAllRender();
  await expectNoLoss(load, what, say);
}

/** The autoscaler's number of backends stays, whatever was applied before. */
async function tryComponents(service: Service, say: Context["say"]): Promise<void> {
  for (const { group, version, kind } of FOREIGN) await define(service, { group, version, kind });
  await service.kubectl("scale", "deployment/backend", "--replicas=3");
  await service.enable("autoscaling");
  await service.enable("monitoring");
  await service.followPage("last-applied-configuration-");
  await service.rolledOut();
  const replicas = await service.kubectl("get", "deployment/backend", "--output=jsonpath={.spec.replicas}");
  if (replicas !== "3") throw new Error(`with components/autoscaling there are ${replicas} backends, not 3`);
  say("components/autoscaling, added while 3 backends run, leaves 3");
}

async function define(service: Service, { group, version, kind }: (typeof FOREIGN)[number]): Promise<void> {
  const plural = `${kind.toLowerCase()}s`;
  const anything = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural },
      versions: [{ name: version, served: true, storage: true, schema: anything }],
    },
  };
  await service.create(definition);
  await service.kubectl("wait", "--for=condition=Established", `crd/${plural}.${group}`);
}

const PODS = object({ items: array(object({ metadata: object({ uid: string() }) })) });

/** Waits for the end of processes of pods that are gone, and of those that ended and were never waited for. */
async function expectNothingLeft(cluster: Cluster): Promise<void> {
  let left: string[] = [];
  try {
    await until("an end of what should be gone", async () => {
      left = await findLeft(cluster);
      return left.length === 0;
    });
  } catch (error) {
    throw new Error(`left in the cluster: ${left.join("; ")}`, { cause: error });
  }
}

async function findLeft({ inNode, kubectl, cgroup }: Cluster): Promise<string[]> {
  const { items } = parse(PODS, JSON.parse(await kubectl("get", "pods", "--all-namespaces", "--output=json")));
  const processes = await run(inNode("ps", "-ww", "-eo", "stat=,pid=,ppid=,comm=,cgroup="));
  return processes.split("\n").filter((line) => {
    const isOfPod = line.includes(`/${cgroup}/`);
    return isOfPod && (line.startsWith("Z") || !items.some(({ metadata }) => line.includes(metadata.uid)));
  });
}
