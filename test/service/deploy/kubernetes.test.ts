/**
 * The manifests below deploy/kubernetes: as the schemas demand, and in agreement with the code. `npm run test:long -- engines` deploys
 * them, and its server rejects members that it does not know.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ScaledObject } from "@kubernetes-models/keda/keda.sh/v1alpha1";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1";
import { Deployment } from "kubernetes-models/apps/v1";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import {
  array,
  type InferOutput,
  literal,
  looseObject,
  number,
  object,
  optional,
  parse,
  record,
  string,
} from "valibot";
import { describe, expect, it } from "vitest";
import { parseAllDocuments, parse as parseYaml } from "yaml";
import { BACKEND_ROUTES, EDGE_ROUTES } from "../../../protocol/routes.ts";
import { backendMemoryBytes } from "../../../scripts/generate/backend-memory.ts";
import {
  backendStopSeconds,
  bytesOf,
  deployedBackendSettings,
  deployedEdgeSettings,
  edgeStopSeconds,
  readEnvironment,
} from "../../support/deploy/deployed-settings.ts";
import { imageInstruction } from "../../support/deploy/dockerfile.ts";

const FOLDER = fileURLToPath(new URL("../../../deploy/kubernetes", import.meta.url));
const MODELS: Readonly<Record<string, new () => { validate(): void }>> = {
  "apps/v1 Deployment": Deployment,
  "keda.sh/v1alpha1 ScaledObject": ScaledObject,
  "monitoring.coreos.com/v1 ServiceMonitor": ServiceMonitor,
  "networking.k8s.io/v1 NetworkPolicy": NetworkPolicy,
  "policy/v1 PodDisruptionBudget": PodDisruptionBudget,
  "v1 Service": Service,
};

const MANIFEST = looseObject({ apiVersion: string(), kind: string(), metadata: looseObject({ name: string() }) });

type Manifest = InferOutput<typeof MANIFEST>;

/**
 * Parses a manifest that is complete.
 *
 * @throws if a member has a wrong type or a required one is absent.
 */
function parseManifest(content: unknown): Manifest {
  const manifest = parse(MANIFEST, content);
  const type = `${manifest.apiVersion} ${manifest.kind}`;
  const Model = MODELS[type];
  if (Model === undefined) throw new Error(`no schema of ${type} is known`);
  Object.assign(new Model(), manifest).validate();
  return manifest;
}

const PROBE = object({ httpGet: object({ path: string(), port: literal("http") }) });
const POD = object({
  terminationGracePeriodSeconds: number(),
  automountServiceAccountToken: literal(false),
  securityContext: object({
    runAsNonRoot: literal(true),
    runAsUser: number(),
    runAsGroup: number(),
    seccompProfile: object({ type: literal("RuntimeDefault") }),
  }),
  containers: array(
    object({
      name: string(),
      image: string(),
      ports: array(object({ name: literal("http"), containerPort: number() })),
      envFrom: array(record(string(), object({ name: string() }))),
      lifecycle: optional(object({ preStop: object({ sleep: object({ seconds: number() }) }) })),
      startupProbe: PROBE,
      readinessProbe: PROBE,
      livenessProbe: object({ ...PROBE.entries, terminationGracePeriodSeconds: number() }),
      resources: object({ requests: record(string(), string()), limits: object({ memory: string() }) }),
      securityContext: object({
        allowPrivilegeEscalation: literal(false),
        readOnlyRootFilesystem: literal(true),
        capabilities: object({ drop: array(literal("ALL")) }),
      }),
      volumeMounts: optional(array(object({ name: string(), mountPath: string() })), []),
    }),
  ),
  volumes: optional(array(object({ emptyDir: object({ medium: literal("Memory"), sizeLimit: string() }) })), []),
});
const WORKLOAD = object({
  spec: object({
    replicas: number(),
    strategy: object({ rollingUpdate: object({ maxUnavailable: number(), maxSurge: number() }) }),
    template: object({ spec: POD }),
  }),
});
const GENERATORS = object({
  configMapGenerator: optional(array(object({ name: string(), literals: array(string()) })), []),
});

type Workload = InferOutput<typeof WORKLOAD>["spec"];

async function documentsOf(path: string): Promise<unknown[]> {
  const text = await readFile(join(FOLDER, path), "utf8");
  return parseAllDocuments(text, { merge: true }).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS();
  });
}

/** The literals that a kustomization puts into a map of settings. */
async function literalsOf(path: string, name: string): Promise<Record<string, string>> {
  const { configMapGenerator } = parse(GENERATORS, parseYaml(await readFile(join(FOLDER, path), "utf8")));
  const literals = configMapGenerator.find((each) => each.name === name)?.literals ?? [];
  return Object.fromEntries(
    literals.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

/** The names of the settings that a container takes from a list. */
const sourcesOf = ({ template }: Workload) =>
  template.spec.containers[0]?.envFrom.map((source) => Object.values(source)[0]?.name);

const paths = (await readdir(FOLDER, { recursive: true })).filter((path) => path.endsWith(".yaml"));
const complete = paths.filter(
  (path) => !path.endsWith("kustomization.yaml") && path !== "components/bubblewrap/backend.yaml",
);
const manifests = (await Promise.all(complete.sort().map(documentsOf))).flat().map(parseManifest);
const manifestOf = (type: string, name: string) =>
  manifests.find(({ kind, metadata }) => kind === type && metadata.name === name);
const backend = parse(WORKLOAD, manifestOf("Deployment", "backend")).spec;
const edge = parse(WORKLOAD, manifestOf("Deployment", "edge")).spec;
const backendSettings = deployedBackendSettings({
  ...(await literalsOf("base/kustomization.yaml", "backend-settings")),
  ...(await readEnvironment("kubernetes/backend-secrets.env.example")),
});
const edgeSettings = await deployedEdgeSettings({
  ...(await literalsOf("base/kustomization.yaml", "edge-settings")),
  ...(await readEnvironment("kubernetes/edge-secrets.env.example")),
});

const containerOf = (workload: Workload) => {
  const [container, ...others] = workload.template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error("expected one container");
  return container;
};

describe("the manifests", () => {
  it("follow the schemas", () => {
    expect(manifests.length).toBeGreaterThan(8);
    expect(() => parseManifest({ ...manifests[0], spec: { replicas: "two" } })).toThrow();
  });

  it("run both images with the tokens that each needs and nothing that an attacker could use", async () => {
    expect(sourcesOf(backend)).toEqual(["backend-settings", "backend-tokens"]);
    expect(sourcesOf(edge)).toEqual(["edge-settings", "edge-tokens"]);
    for (const [workload, target, routes] of [
      [backend, "backend", BACKEND_ROUTES],
      [edge, "edge", EDGE_ROUTES],
    ] as const) {
      const container = containerOf(workload);
      expect(container.image).toBe(`document-rendering-${target}`);
      expect(String(container.ports[0]?.containerPort)).toBe(await imageInstruction(target, "EXPOSE"));
      const served = routes.map(({ path }): string => path);
      for (const { httpGet } of [container.startupProbe, container.readinessProbe, container.livenessProbe]) {
        expect(served).toContain(httpGet.path);
      }
      expect(container.livenessProbe.httpGet.path).toBe("/health");
      const { runAsUser, runAsGroup } = workload.template.spec.securityContext;
      expect(`${runAsUser}:${runAsGroup}`).toBe(await imageInstruction(target, "USER"));
    }
    // A pod is replaced only when its successor is ready.
    for (const { strategy } of [backend, edge])
      expect(strategy).toEqual({ rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } });
    // Not alive and not ready are two things: a backend that drains must not be killed.
    expect(containerOf(backend).readinessProbe.httpGet.path).toBe("/ready");
  });

  it("give a pod the time that its settings allow it to take to end", () => {
    expect(backendSettings.drainDelaySeconds).toBeGreaterThan(0);
    expect(backend.template.spec.terminationGracePeriodSeconds).toBe(backendStopSeconds(backendSettings) + 10);
    const delaySeconds = containerOf(edge).lifecycle?.preStop.sleep.seconds ?? 0;
    expect(delaySeconds).toBeGreaterThan(0);
    expect(edge.template.spec.terminationGracePeriodSeconds).toBe(delaySeconds + edgeStopSeconds(edgeSettings) + 10);
    // One that no longer answers finishes nothing.
    for (const workload of [backend, edge]) {
      expect(containerOf(workload).livenessProbe.terminationGracePeriodSeconds).toBeLessThanOrEqual(10);
    }
  });

  it("give a backend the memory and the cores that its settings allow it to use, as the page adds it up", async () => {
    const container = containerOf(backend);
    const workBytes = bytesOf(backend.template.spec.volumes[0]?.emptyDir.sizeLimit ?? "");
    expect(container.volumeMounts).toEqual([{ name: "work", mountPath: "/tmp" }]);
    expect(workBytes).toBeGreaterThan(backendSettings.maxTempBytes);
    const neededBytes = backendMemoryBytes(backendSettings, workBytes);
    expect(bytesOf(container.resources.limits.memory)).toBeGreaterThan(neededBytes);
    const page = await readFile(new URL("../../../docs/deploy/kubernetes.md", import.meta.url), "utf8");
    expect(page).toContain(`\n| | | ${Math.ceil(neededBytes / 1024 ** 2)} |\n`);
    expect(container.resources.requests).toEqual({
      cpu: String(backendSettings.maxConcurrentRenders),
      memory: container.resources.limits.memory,
    });
    // Otherwise the node's cores would decide.
    expect(backendSettings.warmRenders).toBe(backendSettings.maxConcurrentRenders);
  });

  it("let the edge find every backend pod that is ready, however many there are", async () => {
    expect(edgeSettings.backends).toEqual({
      addresses: [],
      services: [{ service: "_http._tcp.backend", prefix: null }],
    });
    const service = manifestOf("Service", "backend");
    expect(service).toMatchObject({
      spec: { clusterIP: "None", ports: [{ name: "http", port: containerOf(backend).ports[0]?.containerPort }] },
    });
    // A pod that is not ready gets no renders.
    expect(service).not.toHaveProperty("spec.publishNotReadyAddresses");
    const scaler = manifests.find(({ kind }) => kind === "ScaledObject");
    expect(scaler).toMatchObject({
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "backend" },
        minReplicaCount: backend.replicas,
        triggers: [{ metadata: { threshold: String(0.7 * backendSettings.maxConcurrentRenders) } }],
      },
    });
    const metrics = await readFile(new URL("../../../backend/observe/scrape-readings.ts", import.meta.url), "utf8");
    for (const [name] of JSON.stringify(scaler).matchAll(/\bservice_\w+/g)) expect(metrics).toContain(`"${name}"`);
  });

  it("let a backend be reached only from the edge, and reach nothing", () => {
    const policies = manifests.filter(({ kind }) => kind === "NetworkPolicy");
    const label = (component: string) => ({
      podSelector: { matchLabels: { "app.kubernetes.io/component": component } },
    });
    expect(policies).toContainEqual(
      expect.objectContaining({
        spec: {
          ...label("backend"),
          policyTypes: ["Ingress", "Egress"],
          ingress: [{ from: [label("edge")], ports: [{ port: "http" }] }],
          egress: [],
        },
      }),
    );
    expect(manifestOf("NetworkPolicy", "edge")).toMatchObject({
      spec: {
        ...label("edge"),
        policyTypes: ["Ingress", "Egress"],
        egress: [{ to: [label("backend")] }, { ports: [{ port: 53 }, { port: 53 }] }],
      },
    });
  });
});

it("the overlays run in the sandbox of their name", async () => {
  expect(backendSettings.sandboxChoice).toBe("landlock");
  const literals = await literalsOf("components/bubblewrap/kustomization.yaml", "backend-settings");
  expect(deployedBackendSettings(literals).sandboxChoice).toBe("bubblewrap");
  const profile = parse(
    object({ defaultAction: literal("SCMP_ACT_ERRNO"), syscalls: array(object({ names: array(string()) })) }),
    JSON.parse(await readFile(join(FOLDER, "../seccomp-backend.json"), "utf8")),
  );
  const allowed = profile.syscalls.flatMap(({ names }) => names);
  expect(new Set(allowed).size).toBe(allowed.length);
  for (const name of ["clone", "unshare", "mount", "umount2", "pivot_root", "seccomp", "landlock_restrict_self"]) {
    expect(allowed).toContain(name);
  }
  const refused = "bpf init_module kexec_load keyctl ptrace process_vm_readv userfaultfd io_uring_setup".split(" ");
  for (const name of refused) expect(allowed).not.toContain(name);
});
