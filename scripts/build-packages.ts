/** `npm run build:packages`: packs what is published, with checksums. The wheel is that which each deployment serves. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CLIENT_FILES } from "../protocol/routes.ts";
import { npmPackage } from "./assets/npm-package.ts";
import { pythonWheel } from "./assets/python-wheel.ts";
import { sha256 } from "./pinned/content-digest.ts";

/** An argument names another folder, for tests. */
const TARGET = resolve(process.argv[2] ?? fileURLToPath(new URL("../dist/packages", import.meta.url)));

await rm(TARGET, { recursive: true, force: true });
await mkdir(TARGET, { recursive: true });
const packages = await Promise.all((["client", "cli", "e-invoice"] as const).map(npmPackage));
packages.push({ name: CLIENT_FILES.wheel, content: await pythonWheel() });
packages.sort((one, other) => (one.name < other.name ? -1 : 1));
for (const { name, content } of packages) await writeFile(join(TARGET, name), content);
const sums = packages.map(({ name, content }) => `${sha256(content)}  ${name}\n`);
await writeFile(join(TARGET, "SHA256SUMS"), sums);
process.stdout.write(`${TARGET} is ready: ${packages.map(({ name }) => name).join(", ")}\n`);
