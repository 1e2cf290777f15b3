/** The edge for workerd alone, as a folder. All settings come from the environment of the process when it starts. */
import { copyFile, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { LICENCES_FILE } from "../../protocol/routes.ts";
import { ASSETS_WORKER, describeAssets } from "../assets/asset-files.ts";
import { provideStaticAssets } from "../assets/static-assets.ts";
import { bundle, bundleProgram, wranglerConfig } from "./worker.ts";

/** What starts it: the gate, which starts workerd. */
export const EDGE_PROGRAM = "start.mjs";
const GATE = "gate/main.ts";
/** Where workerd alone listens. The gate has it listen on any port. */
const WORKERD_ADDRESS = "127.0.0.1:8787";

/** Makes a text literal of Cap'n Proto. Names and paths of this project need no more than JSON's escapes of ASCII. */
const quote = (text: string) => JSON.stringify(text);

const PROJECT = new URL("../../", import.meta.url);
const require = createRequire(import.meta.url);
/** The package is CommonJS; its export is the path of the program for this machine's platform. */
const { default: WORKERD }: { readonly default: string } = require("workerd");

/** @param content "links": of what is large, for a folder that stays on this machine and does not outlive a build */
export async function writeEdge(folder: string, content: "copies" | "links" = "copies"): Promise<void> {
  const { main, assets, compatibility_date, compatibility_flags } = await wranglerConfig();
  await provideStaticAssets();
  const [edge, assetsWorker, gate] = await Promise.all([bundle(main), bundle(ASSETS_WORKER), bundleProgram(GATE)]);
  const source = fileURLToPath(new URL(assets.directory, PROJECT));
  const { descriptions, bindings } = await describeAssets(source);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const compatibility = [
    `compatibilityDate = ${quote(compatibility_date)}`,
    `compatibilityFlags = [${compatibility_flags.map(quote).join(", ")}]`,
  ];
  const configuration = capnp(settingNames(edge), assets.binding, bindings, compatibility);
  await Promise.all([
    writeFile(join(folder, "edge.js"), edge),
    writeFile(join(folder, "assets.js"), assetsWorker),
    writeFile(join(folder, EDGE_PROGRAM), gate),
    writeFile(join(folder, "assets.json"), `${JSON.stringify(descriptions, null, 2)}\n`),
    writeFile(join(folder, "config.capnp"), configuration),
    copyFile(new URL("LICENSE", PROJECT), join(folder, "LICENSE")),
    copyFile(join(source, LICENCES_FILE), join(folder, "THIRD-PARTY-LICENSES.txt")),
  ]);
  if (content === "links") {
    await symlink(WORKERD, join(folder, "workerd"));
    await symlink(source, join(folder, "static"));
    return;
  }
  await copyFile(WORKERD, join(folder, "workerd"));
  for (const path of bindings.values()) {
    const target = join(folder, "static", path);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(source, path), target);
  }
}

/** The settings that a Worker reads: all that its code names. One that the environment lacks is null, and ignored. */
export function settingNames(script: string): string[] {
  return [...new Set(script.match(/\bSERVICE_[A-Z0-9]+(?:_[A-Z0-9]+)*\b/g))].sort();
}

function capnp(
  settings: readonly string[],
  assetsBinding: string,
  files: ReadonlyMap<string, string>,
  compatibility: readonly string[],
): string {
  const fromEnvironment = settings.map((name) => `(name = ${quote(name)}, fromEnvironment = ${quote(name)})`);
  const contents = [...files].map(([name, path]) => `(name = ${quote(name)}, data = embed ${quote(`static${path}`)})`);
  return `# Made by \`npm run build:edge\` from wrangler.toml. start.mjs runs it.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "assets", worker = .assets),
    # Backends may have private addresses. The edge connects only to them and to name servers; no request chooses one.
    (name = "backends", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
    # The edge reads only resolv.conf there, to look backends up in DNS as other programs of the machine do.
    (name = "machine", disk = (path = "/etc")),
  ],
  sockets = [(
    name = ${quote("http")},
    address = ${quote(WORKERD_ADDRESS)},
    # The client's scheme, from a proxy that terminates TLS. It appears in the \`instance\` of problems.
    http = (forwardedProtoHeader = "X-Forwarded-Proto"),
    service = "edge",
  )],
);

const edge :Workerd.Worker = (
  modules = [(name = "edge.js", esModule = embed "edge.js")],
  ${compatibility.join(",\n  ")},
  globalOutbound = "backends",
  bindings = [
    (name = ${quote(assetsBinding)}, service = "assets"),
    (name = "MACHINE_SETTINGS", service = "machine"),
    ${fromEnvironment.join(",\n    ")},
  ],
);

const assets :Workerd.Worker = (
  modules = [(name = "assets.js", esModule = embed "assets.js")],
  ${compatibility.join(",\n  ")},
  bindings = [
    (name = "DESCRIPTIONS", json = embed "assets.json"),
    ${contents.join(",\n    ")},
  ],
);
`;
}
