// The edge's clock waits with workerd's `scheduler.wait`, which browsers do not have. The simulation never calls it.

interface Scheduler {
  wait(milliseconds: number): Promise<void>;
}
