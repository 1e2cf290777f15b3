/** What a deploy file gives the programs, by the programs' own readers of settings. */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { type BackendSettings, readBackendSettings } from "../../../backend/settings.ts";
import { type EdgeSettings, readEdgeSettings } from "../../../edge/settings.ts";
import { MAX_BODY_MILLISECONDS, MAX_UPLOAD_MILLISECONDS } from "../../../rules/render-time.ts";
import { bundleProgram } from "../../../scripts/build/worker.ts";

type Variables = Readonly<Record<string, string>>;

/** @throws if a variable is not a setting of a backend, or its value is not valid. */
export function deployedBackendSettings(variables: Variables): BackendSettings {
  const read = new Set<string>();
  const environment = new Proxy<Record<string, string>>(
    { ...variables },
    {
      get: (target, name) => {
        if (typeof name === "symbol") return undefined;
        read.add(name);
        return target[name];
      },
    },
  );
  const settings = readBackendSettings(environment);
  const unknown = Object.keys(variables).filter((name) => name.startsWith("SERVICE_") && !read.has(name));
  if (unknown.length > 0) throw new Error(`a backend has no setting ${unknown.join(", ")}`);
  return settings;
}

/** @throws if a variable is not a setting of the edge, or its value is not valid. */
export async function deployedEdgeSettings(variables: Variables): Promise<EdgeSettings> {
  // All that its code names.
  const program = await bundleProgram("edge/platform/node/main.ts");
  const known = new Set(["NODE_ENV", ...(program.match(/\bSERVICE_[A-Z0-9]+(?:_[A-Z0-9]+)*\b/g) ?? [])]);
  const unknown = Object.keys(variables).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`the edge has no setting ${unknown.join(", ")}`);
  return readEdgeSettings(variables);
}

/** How long a backend may take to end. With less time, it is killed before its renders have finished. */
export function backendStopSeconds({ drainDelaySeconds, graceSeconds }: BackendSettings): number {
  return drainDelaySeconds + graceSeconds;
}

export function edgeStopSeconds({ bodyTimeoutSeconds, backendTimeoutSeconds }: EdgeSettings): number {
  const slowUploadSeconds = (MAX_UPLOAD_MILLISECONDS + MAX_BODY_MILLISECONDS) / 1000;
  return bodyTimeoutSeconds + backendTimeoutSeconds + slowUploadSeconds;
}

/** The variables of a file of assignments, of this path below `deploy/`. */
export async function readEnvironment(path: string): Promise<Record<string, string>> {
  const values = parseEnv(await readFile(new URL(`../../../deploy/${path}`, import.meta.url), "utf8"));
  return Object.fromEntries(Object.entries(values).map(([name, value = ""]) => [name, value]));
}

/** The bytes of a size such as `600m` (compose) or `600Mi` (Kubernetes). */
export function bytesOf(size: string): number {
  const [, digits, unit = ""] = /^(\d+)([kmgKMG]?)i?$/.exec(size) ?? [];
  if (digits === undefined) throw new Error(`not a size: ${size}`);
  return Number(digits) * 1024 ** ["", "k", "m", "g"].indexOf(unit.toLowerCase());
}
