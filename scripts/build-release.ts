/** `npm run build:release [-- FOLDER]`: writes what a host needs to run edge and backend, by default to `dist/release` with an archive of it. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { expectCleanCheckout, packRelease, writeRelease } from "./build/release-folder.ts";

const [folder, ...more] = parseArgs({ allowPositionals: true }).positionals;
if (more.length > 0) throw new Error("npm run build:release -- FOLDER takes one folder");
// Parents of the folder as well.
process.umask(0o022);
const target = resolve(folder ?? fileURLToPath(new URL("../dist/release", import.meta.url)));
await expectCleanCheckout(fileURLToPath(new URL("../", import.meta.url)));
await writeRelease(target);
const ready = folder === undefined ? `${target} and ${await packRelease(target)} are` : `${target} is`;
process.stdout.write(`${ready} ready: docs/deploy/one-host.md has the steps\n`);
