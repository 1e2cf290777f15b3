/** Validates manifests by the schemas of Kubernetes and of the operators whose objects are used here. */
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { Deployment } from "kubernetes-models/apps/v1";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { type InferOutput, looseObject, parse, string } from "valibot";

const MODELS: Readonly<Record<string, new () => { validate(): void }>> = {
  "apps/v1 Deployment": Deployment,
  "keda.sh/v1alpha1 ScaledObject": ScaledObject,
  "monitoring.coreos.com/v1 ServiceMonitor": ServiceMonitor,
  "networking.k8s.io/v1 NetworkPolicy": NetworkPolicy,
  "policy/v1 PodDisruptionBudget": PodDisruptionBudget,
  "v1 Service": Service,
};

const MANIFEST = looseObject({ apiVersion: string(), kind: string(), metadata: looseObject({ name: string() }) });

export type Manifest = InferOutput<typeof MANIFEST>;

/**
 * Parses a manifest that is complete.
 *
 * @throws if a member has a wrong type or a required one is absent.
 */
export function parseManifest(content: unknown): Manifest {
  const { manifest, error } = validate(content);
  if (error !== null) throw error;
  return manifest;
}

/**
 * The members that the schemas do not know, of a manifest or of a patch of one. A server of Kubernetes only warns of
 * them, and goes on without.
 */
export function unknownMembers(content: unknown): string[] {
  return validate(content).unread;
}

interface Validation {
  readonly manifest: Manifest;
  readonly error: Error | null;
  readonly unread: string[];
}

function validate(content: unknown): Validation {
  const manifest = parse(MANIFEST, content);
  const type = `${manifest.apiVersion} ${manifest.kind}`;
  const Model = MODELS[type];
  if (Model === undefined) throw new Error(`no schema of ${type} is known`);
  // The generated validators read the members that they know, so what has not been read is unknown. A model copies what
  // its constructor gets, and that would read everything.
  const unread = new Set<string>();
  const model = Object.assign(new Model(), watchMembers(manifest, unread));
  let error: Error | null = null;
  try {
    model.validate();
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error(String(thrown));
  }
  return { manifest, error, unread: [...unread] };
}

/** A copy whose members, at every depth, leave the set when they are read. */
function watchMembers(manifest: Manifest, unread: Set<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(manifest).map(([name, value]) => [name, watch(value, name, unread)]));
}

function watch(value: unknown, path: string, unread: Set<string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const members = new Map(
    Object.entries(value).map(([name, member]) => [name, watch(member, `${path}.${name}`, unread)]),
  );
  for (const name of members.keys()) unread.add(`${path}.${name}`);
  return new Proxy(value, {
    get: (target, name) => {
      if (typeof name === "string") unread.delete(`${path}.${name}`);
      return typeof name === "string" && members.has(name) ? members.get(name) : Reflect.get(target, name);
    },
  });
}
