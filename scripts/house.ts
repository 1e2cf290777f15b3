/** `npm run check:house [-- --allow]`: compares sizes with scripts/house.json, or allows a tenth more than now. */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { execa } from "execa";
import biome from "../biome.json" with { type: "json" };
import packageJson from "../package.json" with { type: "json" };
import house from "./house.json" with { type: "json" };

const CODE = /\.(ts|mjs|js|py|sh|css|html)$/;
const ROOT = new URL("../", import.meta.url);
const SIDE_BY_SIDE = "files side by side";
/** These are the same whatever the project has grown to. */
const FIXED = [SIDE_BY_SIDE, "lines of a function"];

const allowed: Readonly<Record<string, number>> = house;
const { stdout } = await execa("git", ["ls-files", "-z"], { cwd: ROOT });
const files = stdout.split("\0").filter(Boolean);
const folders = Object.entries(Object.groupBy(files, dirname)).map(([name, inside = []]) => ({ name, inside }));
// A rule, a decision or a finding a file: halls, and no room of them would have a name of its own.
const HALLS = ["rules", "docs/decisions", "findings"];
const fullest = folders
  .filter(({ name }) => !HALLS.includes(name))
  .toSorted((a, b) => b.inside.length - a.inside.length)[0];

const counted: Record<string, number> = {
  [SIDE_BY_SIDE]: fullest?.inside.length ?? 0,
  // The linter counts these.
  "lines of a function": biome.linter.rules.complexity.noExcessiveLinesPerFunction.options.maxLines,
  dependencies: Object.keys(packageJson.dependencies).length,
  devDependencies: Object.keys(packageJson.devDependencies).length,
};
for (const file of files.filter((name) => CODE.test(name) && name.includes("/"))) {
  const [room] = /^(clients\/[^/]+|[^/]+)/.exec(file) ?? [];
  const lines = readFileSync(new URL(file, ROOT), "utf8").split("\n").length - 1;
  counted[`lines in ${room}`] = (counted[`lines in ${room}`] ?? 0) + lines;
}

if (process.argv.includes("--allow")) {
  const more = (name: string, count: number) => (FIXED.includes(name) ? (allowed[name] ?? count) : count * 1.1);
  const budgets = Object.entries(counted).map(([name, count]) => [name, Math.ceil(more(name, count))]);
  writeFileSync(new URL("house.json", import.meta.url), `${JSON.stringify(Object.fromEntries(budgets), null, 2)}\n`);
} else {
  const over = Object.entries(counted).filter(([name, count]) => count > (allowed[name] ?? 0));
  for (const [name, count] of over) {
    const where = name === SIDE_BY_SIDE ? ` (${fullest?.name})` : "";
    process.stderr.write(`${name}${where}: ${count}, allowed ${allowed[name] ?? "nothing yet"} (scripts/house.json)\n`);
  }
  process.exitCode = over.length > 0 ? 1 : 0;
}
