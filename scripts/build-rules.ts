/**
 * `npm run build:rules`: builds the rules as a package of plain JavaScript with types, for programs that check requests
 * before they send them. The package is written to dist/rules; `npm pack ./dist/rules` makes a file that any project can
 * install.
 */
import { execFileSync } from "node:child_process";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const ROOT = new URL("../", import.meta.url);
const TARGET = new URL("dist/rules/", ROOT);
/** The packages that `rules/` imports. */
const IMPORTED_PACKAGES = ["content-type", "valibot"];

const project: { version: string; license: string; dependencies: Record<string, string> } = JSON.parse(
  await readFile(new URL("package.json", ROOT), "utf8"),
);

await rm(TARGET, { recursive: true, force: true });
execFileSync("tsc", ["-p", fileURLToPath(new URL("rules/tsconfig.build.json", ROOT))], { stdio: "inherit" });
await cp(new URL("LICENSE", ROOT), new URL("LICENSE", TARGET));
await cp(new URL("docs/client.md", ROOT), new URL("README.md", TARGET));
await writeFile(
  new URL("package.json", TARGET),
  `${JSON.stringify(
    {
      name: "document-rendering-rules",
      version: project.version,
      description: "Checks render requests as the document rendering service does, before they are sent",
      license: project.license,
      type: "module",
      sideEffects: false,
      exports: { ".": { types: "./client.d.ts", default: "./client.js" } },
      dependencies: Object.fromEntries(IMPORTED_PACKAGES.map((name) => [name, `^${project.dependencies[name]}`])),
    },
    null,
    2,
  )}\n`,
);
process.stdout.write("dist/rules is ready\n");
