/**
 * Makes a schedule that breaks an invariant smaller: without the requests and faults that are not needed to break it.
 */
import type { Schedule } from "./schedule.ts";
import { type Run, runSchedule } from "./world.ts";

type Runner = (schedule: Schedule) => Promise<Pick<Run, "violation">>;

/** @returns a schedule that breaks the same invariant; the same one if nothing can be left out. */
export async function shrink(schedule: Schedule, invariant: string, run: Runner = runSchedule): Promise<Schedule> {
  const breaks = async (candidate: Schedule) => {
    const { violation } = await run(candidate);
    return violation?.invariant === invariant;
  };
  const withFewerRequests = (current: Schedule) =>
    leaveOut(current.requests, (requests) => breaks({ ...current, requests }));
  const faults = await leaveOut(schedule.faults, (candidate) => breaks({ ...schedule, faults: candidate }));
  const withFewerFaults = { ...schedule, faults };
  return { ...withFewerFaults, requests: await withFewerRequests(withFewerFaults) };
}

/** Leaves out ever smaller parts of a list as long as what remains is enough. */
async function leaveOut<Member>(
  members: readonly Member[],
  isEnough: (members: readonly Member[]) => Promise<boolean>,
): Promise<readonly Member[]> {
  let current = members;
  for (let size = Math.ceil(members.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < current.length; ) {
      const candidate = [...current.slice(0, at), ...current.slice(at + size)];
      if (await isEnough(candidate)) current = candidate;
      else at += size;
    }
  }
  return current;
}
