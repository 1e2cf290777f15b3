/**
 * `assets-worker.ts` for Miniflare, with its files read from a folder at the first request. With the files in its
 * configuration, Miniflare spent most of its start on copying that (2026-11-22).
 */
import assetsWorker, { type AssetBindings, type AssetDescription } from "../../edge/standalone/assets-worker.ts";

type FolderBindings = {
  readonly DESCRIPTIONS: Readonly<Record<string, AssetDescription>>;
  /** The path of each form of a file, with a slash before it, by the name of its binding. */
  readonly PATHS: Readonly<Record<string, string>>;
  readonly FOLDER: Fetcher;
};

let bindings: AssetBindings | undefined;

async function readFolder({ DESCRIPTIONS, PATHS, FOLDER }: FolderBindings): Promise<AssetBindings> {
  const files = Object.entries(PATHS).map(async ([name, path]) => {
    const file = await FOLDER.fetch(new URL(path, "http://folder"));
    return [name, file.ok ? await file.arrayBuffer() : null];
  });
  return { ...Object.fromEntries(await Promise.all(files)), DESCRIPTIONS };
}

export default {
  async fetch(request: Request, folder: FolderBindings): Promise<Response> {
    // Requests at the same time each read for themselves, because none may wait for what another one reads.
    bindings ??= await readFolder(folder);
    return assetsWorker.fetch(request, bindings);
  },
};
