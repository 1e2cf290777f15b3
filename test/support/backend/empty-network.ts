/**
 * The empty network of a test's backend. It is looked for once with the same programs, because each search starts three
 * of them.
 */
import { findEmptyNetwork } from "../../../backend/sandbox/empty-network.ts";
import type { BackendSettings } from "../../../backend/settings.ts";

const found = new Map<string, Promise<readonly string[]>>();

export function emptyNetworkFor(settings: BackendSettings): Promise<readonly string[]> {
  const key = JSON.stringify([settings.sandboxChoice, settings.unsharePath, settings.bubblewrapPath]);
  const network = found.get(key) ?? findEmptyNetwork(settings);
  found.set(key, network);
  return network;
}
