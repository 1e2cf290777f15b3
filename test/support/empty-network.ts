/** The search for an empty network, once for all backends that a test process builds: it runs the same program with the same end. */
import { findEmptyNetwork } from "../../backend/sandbox/empty-network.ts";
import type { BackendSettings } from "../../backend/start/settings.ts";

const found = new Map<string, ReturnType<typeof findEmptyNetwork>>();

export function emptyNetworkFor(settings: BackendSettings): ReturnType<typeof findEmptyNetwork> {
  const { sandboxChoice, unsharePath, bubblewrapPath } = settings;
  const key = JSON.stringify([sandboxChoice, unsharePath, bubblewrapPath]);
  const network = found.get(key) ?? findEmptyNetwork(settings);
  found.set(key, network);
  return network;
}
