/** The service in a cluster: deployed by the commands of docs/deploy/kubernetes.md, and what its pods do. */
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { array, looseObject, object, optional, parse, string } from "valibot";
import { CHECKOUT, run, TOKEN_VARIABLES, until } from "../part.ts";
import type { Cluster } from "./cluster.ts";

export const PAGE = "docs/deploy/kubernetes.md";
const NAMESPACE = "document-rendering";
/** The caller of the edge's own renders. */
const PROBES = "edge-probe";
const ROLLOUT_TIMEOUT = "--timeout=300s";

const PODS = object({
  items: array(
    object({
      metadata: object({ name: string(), deletionTimestamp: optional(string()) }),
      status: object({
        conditions: optional(array(object({ type: string(), status: string() })), []),
        containerStatuses: optional(array(object({ containerID: optional(string()) })), []),
      }),
    }),
  ),
});
/** A line of the backend's log. */
const LINE = looseObject({ msg: string(), caller: optional(string()) });

export type Overlay = "landlock" | "bubblewrap";

/** A pod that is ready. */
export interface Pod {
  readonly name: string;
  /** Another after each start. */
  readonly container: string;
}

/** One overlay of the manifests, in its namespace. */
export class Service {
  readonly cluster: Cluster;
  /** A copy of `deploy`, in a folder of this name. */
  readonly folder: string;
  readonly #overlay: Overlay;
  readonly #page: string;

  private constructor(cluster: Cluster, overlay: Overlay, folder: string, page: string) {
    this.cluster = cluster;
    this.folder = folder;
    this.#overlay = overlay;
    this.#page = page;
  }

  /** Does the steps of the page, for a node of two cores. */
  static async deploy(cluster: Cluster, overlay: Overlay, folder: string): Promise<Service> {
    await cp(join(CHECKOUT, "deploy"), join(folder, "deploy"), { recursive: true });
    const service = new Service(cluster, overlay, folder, await readFile(join(CHECKOUT, PAGE), "utf8"));
    await service.#tagImages();
    if (overlay === "bubblewrap") await service.followPage("seccomp-backend.json", ".");
    await service.followPage("deploy/make-env.sh", ".");
    for (const name of ["edge-secrets.env", "backend-secrets.env"]) {
      await service.edit(name, (text) =>
        text.replaceAll(/^(\w+)=.*$/gm, (line, setting) => {
          const [, value] = Object.entries(TOKEN_VARIABLES).find(([each]) => each === setting) ?? [];
          return value === undefined ? line : `${setting}=${value}`;
        }),
      );
    }
    await service.enable("small-node");
    await service.followPage("create namespace");
    return service;
  }

  /** Step 1 of the page has been done by podman. */
  async #tagImages(): Promise<void> {
    const built = [...this.#blockWith("docker build").matchAll(/^ *docker build --target (\S+) -t (\S+) \.$/gm)];
    for (const [, target = "", name = ""] of built)
      await this.cluster.ctr("images", "tag", "--force", `localhost/document-rendering-${target}:latest`, name);
  }

  /** Runs the block of the page that contains a text. */
  followPage(text: string, folder = "deploy/kubernetes"): Promise<string> {
    return this.#shell(this.#blockWith(text), folder);
  }

  /** Runs the command that contains a text, in a sentence of the page. */
  followSentence(text: string): Promise<string> {
    return this.#shell(this.commandWith(text), ".");
  }

  commandWith(text: string): string {
    const commands = [...this.#page.matchAll(/`(kubectl [^`\n]*)`/g)].map(([, command = ""]) => command);
    const [command] = commands.filter((each) => each.includes(text));
    if (command === undefined) throw new Error(`${PAGE} has no command with ${text}`);
    return command;
  }

  #blockWith(text: string): string {
    const blocks = [...this.#page.matchAll(/^ *```sh\n([^`]*)^ *```$/gm)].map(([, block = ""]) => block);
    const [found, ...others] = blocks.filter((block) => block.includes(text));
    if (found === undefined || others.length > 0) throw new Error(`not one block of ${PAGE} has ${text}`);
    return found;
  }

  #shell(commands: string, folder: string): Promise<string> {
    const ours =
      this.#overlay === "landlock"
        ? commands
        : commands
            .replaceAll(/(overlays\/|kubernetes )landlock/g, "$1bubblewrap")
            .replaceAll("=restricted", "=privileged");
    return run(this.cluster.inNode("sh", "-ec", `cd "${join(this.folder, folder)}"\n${ours}`));
  }

  async edit(name: string, change: (text: string) => string): Promise<void> {
    const path = join(this.folder, "deploy/kubernetes/overlays", this.#overlay, name);
    const text = await readFile(path, "utf8");
    const changed = change(text);
    if (changed === text) throw new Error(`nothing changed in ${path}`);
    await writeFile(path, changed);
  }

  /** Takes the signs of a comment off a component. */
  enable(component: string): Promise<void> {
    const entry = new RegExp(`^# ( *- .*/${component})$`, "m");
    return this.edit("kustomization.yaml", (text) => text.replace(/^# (components:)$/m, "$1").replace(entry, "$1"));
  }

  readonly kubectl = (...options: readonly string[]): Promise<string> =>
    this.cluster.kubectl("--namespace", NAMESPACE, ...options);

  /** @param object a manifest, or what the path of an API server is sent. */
  async create(object: unknown, ...options: readonly string[]): Promise<void> {
    const file = join(this.folder, "object.json");
    await writeFile(file, JSON.stringify(object));
    await this.kubectl("create", ...options, "--filename", file);
  }

  async url(): Promise<string> {
    return `http://${await this.kubectl("get", "service/edge", "--output=jsonpath={.spec.clusterIP}")}`;
  }

  /** Waits until all pods are as the manifests say. */
  async rolledOut(): Promise<void> {
    for (const name of ["backend", "edge"])
      await this.kubectl("rollout", "status", `deployment/${name}`, ROLLOUT_TIMEOUT);
  }

  async readyPods(component: string): Promise<Pod[]> {
    const selector = `--selector=app.kubernetes.io/component=${component}`;
    const { items } = parse(PODS, JSON.parse(await this.kubectl("get", "pods", selector, "--output=json")));
    return items.flatMap(({ metadata, status }) => {
      const ready = status.conditions.find(({ type }) => type === "Ready");
      const isReady = ready?.status === "True" && metadata.deletionTimestamp === undefined;
      const container = status.containerStatuses[0]?.containerID ?? "";
      return isReady ? [{ name: metadata.name, container }] : [];
    });
  }

  async untilAllRender(): Promise<void> {
    await until("a render by each backend", async () => {
      const pods = await this.readyPods("backend");
      return (await Promise.all(pods.map(({ name }) => this.#hasRendered(name)))).every(Boolean);
    });
  }

  /** Whether a backend has had a render of a caller. */
  async #hasRendered(pod: string): Promise<boolean> {
    const lines = (await this.kubectl("logs", pod)).split("\n").filter((line) => line.startsWith("{"));
    return lines
      .map((line) => parse(LINE, JSON.parse(line)))
      .some(({ msg, caller }) => msg === "render" && caller !== PROBES);
  }

  async remove(): Promise<void> {
    await this.cluster.kubectl("delete", "namespace", NAMESPACE);
  }
}
