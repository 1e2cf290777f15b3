/**
 * What may not be left in a cluster: processes of pods that are gone, and processes that ended and were never waited
 * for.
 */
import { array, object, parse, string } from "valibot";
import { run, until } from "../part.ts";
import type { Cluster } from "./cluster.ts";

const PODS = object({ items: array(object({ metadata: object({ uid: string() }) })) });

/** Waits until nothing is left that should not be. */
export async function expectNothingLeft(cluster: Cluster): Promise<void> {
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
