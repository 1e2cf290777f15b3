/** Where the command keeps what people look at later: pages that `--open` shows, and reports. */
import { constants } from "node:fs";
import { access, mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheFolder } from "../../typst/cache-folder.mjs";

let temporary: Promise<string> | null = null;

/** A folder in the user's cache; without a writable one, below one for temporary files that is this user's alone. */
export async function keptFolder(name: string): Promise<string> {
  const folder = join(cacheFolder(), name);
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    return folder;
  } catch {
    // The same for the whole run: a viewer that is open reloads its file.
    temporary ??= mkdtemp(join(tmpdir(), "document-rendering-"));
    return join(await temporary, name);
  }
}
