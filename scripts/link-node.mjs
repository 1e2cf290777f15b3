/**
 * What npm leaves to do: `node_modules/.bin/node` is that of this platform's package (npm 10.8 removes the link again, 2026-11-23),
 * and 100 MB that nothing here reads go.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT_FOLDER = fileURLToPath(new URL("..", import.meta.url));
const MODULES = path.join(PROJECT_FOLDER, "node_modules");
const BIN = path.join(MODULES, ".bin");

const { optionalDependencies = {} } = JSON.parse(readFileSync(path.join(PROJECT_FOLDER, "package.json"), "utf8"));
const programs = Object.keys(optionalDependencies).map((name) => path.join("..", name, "bin", "node"));
const program = programs.find((file) => existsSync(path.join(BIN, file)));
if (program !== undefined) {
  mkdirSync(BIN, { recursive: true });
  rmSync(path.join(BIN, "node"), { force: true });
  symlinkSync(program, path.join(BIN, "node"));
}
// Node's headers are for compilers, and pdf.js wants its canvas only to draw without a browser. npm cannot leave either out.
for (const folder of [...Object.keys(optionalDependencies).map((name) => `${name}/include`), "@napi-rs"]) {
  rmSync(path.join(MODULES, folder), { recursive: true, force: true });
}
