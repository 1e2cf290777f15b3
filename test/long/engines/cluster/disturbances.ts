/** What happens to pods in a cluster, each under load. */
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../part.ts";
import type { Service } from "./service.ts";

/** How long a work directory stays full: long enough for renders that come then. */
const FULL_MILLISECONDS = 15_000;
const BACKENDS = "deployment/backend";

export interface Disturbance {
  readonly what: string;
  /** Whether what the clients are connected to ends. */
  readonly endsEdges?: true;
  readonly run: (service: Service) => Promise<unknown>;
}

export const DISTURBANCES: readonly Disturbance[] = [
  { what: "rollout restart of the backends", run: (service) => restart(service, BACKENDS) },
  { what: "rollout restart of the edges", endsEdges: true, run: (service) => restart(service, "deployment/edge") },
  { what: "a backend deleted", run: (service) => removeOne(service, "backend") },
  {
    what: "a backend deleted by force",
    run: (service) => removeOne(service, "backend", "--grace-period=0", "--force"),
  },
  { what: "an edge deleted", endsEdges: true, run: (service) => removeOne(service, "edge") },
  { what: "every backend evicted", run: evictAll },
  { what: "SIGKILL to all processes of a backend", run: killContainer },
  { what: "/tmp of a backend full", run: fillWorkDirectory },
  { what: "backends from 2 to 6", run: scaleUp },
  { what: "backends from 6 to 2", run: scaleDown },
  { what: "an image that does not exist, and back", run: rollOutAbsentImage },
];

async function restart(service: Service, workload: string): Promise<void> {
  await service.kubectl("rollout", "restart", workload);
  await service.rolledOut();
}

async function removeOne(service: Service, component: string, ...options: string[]): Promise<void> {
  const [pod] = await service.readyPods(component);
  await service.kubectl("delete", "pod", pod?.name ?? "", ...options);
  await service.rolledOut();
}

/** As a node that is drained does: what the budget refuses is asked again. */
async function evictAll(service: Service): Promise<void> {
  let refused = 0;
  for (const { name } of await service.readyPods("backend")) {
    const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } };
    const path = `/api/v1/namespaces/document-rendering/pods/${name}/eviction`;
    const evict = () =>
      service.create(eviction, "--raw", path).then(
        () => true,
        () => false,
      );
    await until(`eviction of ${name}`, async () => {
      const isEvicted = await evict();
      if (!isEvicted) refused += 1;
      return isEvicted;
    });
  }
  if (refused === 0) throw new Error("the budget has let all backends go at once");
  await service.rolledOut();
}

async function killContainer(service: Service): Promise<void> {
  const [pod] = await service.readyPods("backend");
  const container = pod?.container.replace("containerd://", "") ?? "";
  await service.cluster.ctr("tasks", "kill", "--all", "--signal=SIGKILL", container);
  await until("the container's next start", async () => {
    const pods = await service.readyPods("backend");
    return pods.some(({ name, container: other }) => name === pod?.name && other !== pod.container);
  });
}

/** Its renders need the room that is gone. */
async function fillWorkDirectory(service: Service): Promise<void> {
  const [pod] = await service.readyPods("backend");
  const shell = (script: string) => service.kubectl("exec", pod?.name ?? "", "--", "sh", "-c", script);
  const text = await shell("head -c 2G /dev/zero 2>/dev/null > /tmp/full || echo full");
  if (text !== "full") throw new Error("a file of 2 GB has room in /tmp");
  await delay(FULL_MILLISECONDS);
  await shell("rm /tmp/full");
  await service.rolledOut();
}

async function scaleUp(service: Service): Promise<void> {
  await service.followPage("--replicas=6");
  await service.rolledOut();
}

async function scaleDown(service: Service): Promise<void> {
  await service.kubectl("scale", BACKENDS, "--replicas=2");
  await until("an end of four backends", async () => (await service.readyPods("backend")).length === 2);
}

async function rollOutAbsentImage(service: Service): Promise<void> {
  await service.kubectl("set", "image", BACKENDS, "backend=registry.example/absent:1");
  await until("a pod without its image", async () => (await service.kubectl("get", "pods")).includes("ImagePull"));
  await service.followSentence("rollout undo");
  await service.rolledOut();
}
