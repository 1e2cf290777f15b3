/** `npm run check:house`: the project is no larger than scripts/house.json allows. A larger number there needs a reason in its commit. */
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { execa } from "execa";
import packageJson from "../package.json" with { type: "json" };
import house from "./house.json" with { type: "json" };

const allowed: Readonly<Record<string, number>> = house;
const CODE = /\/.*\.(ts|mjs|js|py|sh|css|html)$/;
const ROOT = new URL("../", import.meta.url);
// One file per rule, decision or finding; no subfolder would have a useful name.
const EXEMPT_FOLDERS = ["rules", "docs/decisions", "findings"];

const { stdout } = await execa("git", ["ls-files", "-z"], { cwd: ROOT });
const files = stdout.split("\0").filter((name) => name !== "" && !name.startsWith("findings/"));
const folders = Object.entries(Object.groupBy(files, dirname)).filter(([name]) => !EXEMPT_FOLDERS.includes(name));
const [fullest, inside = []] = folders.toSorted(([, a = []], [, b = []]) => b.length - a.length)[0] ?? [];

const linesOf = (name: string) => readFileSync(new URL(name, ROOT), "utf8").split("\n").length - 1;
const linesIn = (names: readonly string[]) => names.reduce((sum, name) => sum + linesOf(name), 0);
const [tests, code] = ["test/", ""].map((folder) => files.filter((name) => CODE.test(name) && name.startsWith(folder)));

const counted = {
  "lines of code": linesIn(code ?? []) - linesIn(tests ?? []),
  "lines of tests": linesIn(tests ?? []),
  pages: files.filter((name) => name.endsWith(".md")).length,
  dependencies: Object.keys(packageJson.dependencies).length,
  "files side by side": inside.length,
};

const over = Object.entries(counted).filter(([name, count]) => count > (allowed[name] ?? 0));
for (const [name, count] of over) {
  const where = name === "files side by side" ? ` (${fullest})` : "";
  process.stderr.write(`${name}${where}: ${count}, allowed ${allowed[name]} (scripts/house.json)\n`);
}
process.exitCode = over.length > 0 ? 1 : 0;
