/** Asks the registry for the checksums that npm leaves out of package-lock.json for packages of other platforms. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";

const LOCK_FILE = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
const FOLDER = "node_modules/";

const lock: { packages: Record<string, { version: string; integrity?: string; link?: boolean }> } = JSON.parse(
  await readFile(LOCK_FILE, "utf8"),
);
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === "" || entry.link || entry.integrity !== undefined) continue;
  const name = `${path.slice(path.lastIndexOf(FOLDER) + FOLDER.length)}@${entry.version}`;
  const { stdout, exitCode } = await execa("npm", ["view", name, "dist.integrity"], { reject: false });
  if (exitCode === 0 && stdout.trim() !== "") {
    // At its usual place, after the version.
    const { version, ...others } = entry;
    lock.packages[path] = { version, integrity: stdout.trim(), ...others };
  } else {
    process.stdout.write(`${name}: the registry does not have it\n`);
    process.exitCode = 1;
  }
}
await writeFile(LOCK_FILE, `${JSON.stringify(lock, null, 2)}\n`);
