/** Makes `node_modules/.bin/node` that of this platform's package: npm 10.8 removes the link again (2026-11-23). */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const PROJECT_FOLDER = fileURLToPath(new URL("..", import.meta.url));
const BIN = path.join(PROJECT_FOLDER, "node_modules", ".bin");

const { optionalDependencies = {} } = JSON.parse(readFileSync(path.join(PROJECT_FOLDER, "package.json"), "utf8"));
const programs = Object.keys(optionalDependencies).map((name) => path.join("..", name, "bin", "node"));
const program = programs.find((file) => existsSync(path.join(BIN, file)));
if (program !== undefined) {
  mkdirSync(BIN, { recursive: true });
  rmSync(path.join(BIN, "node"), { force: true });
  symlinkSync(program, path.join(BIN, "node"));
}
