/**
 * Edges of Node in this process, each with its own settings and on a free port: what `npm start` runs, without a process of its own.
 * `startEdges` of `edge-stage.ts` starts either these or Workers.
 */
import { fileURLToPath } from "node:url";
import { startEdge } from "../../../edge/platform/node/edge.ts";
import { type Capacity, capacityOf, ENOUGH_OPEN_FILES } from "../../../edge/platform/node/open-files.ts";
import { StaticFiles } from "../../../edge/platform/node/static-files.ts";
import { listAssets } from "../../../scripts/assets/asset-files.ts";
import { provideStaticAssets } from "../../../scripts/assets/static-assets.ts";
import { LOOPBACK, takeFreePort } from "../../../scripts/start/local-service.ts";

const PROJECT = fileURLToPath(new URL("../../../", import.meta.url));

let allFiles: Promise<StaticFiles> | undefined;

async function readFiles(): Promise<StaticFiles> {
  await provideStaticAssets();
  const assets = await listAssets(`${PROJECT}edge/static`);
  const entries = assets.map(({ path, bytes, ...described }) => {
    const identity = { file: `static${path}`, bytes };
    return [path, { ...described, bytes, forms: { identity } }] as const;
  });
  return new StaticFiles(`${PROJECT}edge`, new Map(entries));
}

export interface NodeEdgeOptions {
  readonly capacity?: Capacity;
  readonly files?: StaticFiles;
  /** Gets each line of its log. */
  readonly log?: (line: string) => void;
}

/** @throws SettingError as the program would end with */
export async function startNodeEdge(
  settings: Readonly<Record<string, string>>,
  { capacity = capacityOf(ENOUGH_OPEN_FILES), files, log }: NodeEdgeOptions = {},
) {
  allFiles ??= readFiles();
  const port = await takeFreePort();
  // As what workerd writes comes out of Miniflare.
  const stdout = { writeLine: log ?? ((line: string) => console.log(line)) };
  const stderr = { writeLine: log ?? ((line: string) => console.error(line)) };
  const environment = { ...settings, SERVICE_EDGE_HOST: LOOPBACK, SERVICE_EDGE_PORT: String(port) };
  const { server, stop } = await startEdge(environment, {
    capacity,
    files: files ?? (await allFiles),
    stdout,
    stderr,
  });
  return {
    url: new URL(`http://${LOOPBACK}:${port}`),
    server,
    stop: async () => {
      await stop();
    },
  };
}

export async function startNodeEdges(each: readonly Readonly<Record<string, string>>[], options?: NodeEdgeOptions) {
  const edges = await Promise.all(each.map((settings) => startNodeEdge(settings, options)));
  const stop = async () => {
    await Promise.all(edges.map((edge) => edge.stop()));
  };
  return { urls: edges.map(({ url }) => url), stop };
}
