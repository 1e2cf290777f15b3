/**
 * Tells systemd from the event loop that it turns, where the unit has a `WatchdogSec`: one that stands still is killed and
 * started again. systemd-notify(1) sends it, because Node has no datagram sockets for paths.
 */
import { execFile } from "node:child_process";
import type { Environment } from "../../rules/settings.ts";

const REPORTS_PER_PERIOD = 3;

export function reportToWatchdog({ PATH, NOTIFY_SOCKET, WATCHDOG_USEC }: Environment): void {
  const periodMilliseconds = Number(WATCHDOG_USEC) / 1000;
  if (!NOTIFY_SOCKET || !(periodMilliseconds > 0)) return;
  const report = () => {
    // A lost message is followed by others; systemd says if none arrives.
    execFile("systemd-notify", ["WATCHDOG=1"], { env: { PATH, NOTIFY_SOCKET } }, () => {});
  };
  report();
  setInterval(report, periodMilliseconds / REPORTS_PER_PERIOD).unref();
}
