/** `npm run check [-- lint types …]`: runs `check:*` of package.json, even if one fails; CONTRIBUTING.md has why. */
import { readFileSync } from "node:fs";
import { execa } from "execa";
import packageJson from "../package.json" with { type: "json" };

const page = readFileSync(new URL("../CONTRIBUTING.md", import.meta.url), "utf8");
const rows = [...page.matchAll(/^\| `check:([a-z]+)` \| (.+) \|$/gm)];
const purposes = new Map(rows.map(([, name = "", purpose = ""]) => [name, purpose.replace(/\[(.+?)\]\(.+?\)/g, "$1")]));
const checks = Object.keys(packageJson.scripts).flatMap((name) => /^check:(.+)/.exec(name)?.[1] ?? []);

const named = process.argv.slice(2);
const unknown = named.find((name) => !checks.includes(name));
const undescribed = new Set(checks).symmetricDifference(new Set(purposes.keys()));
if (unknown !== undefined) stop(`there is no check ${unknown}; there are ${checks.join(", ")}`);
if (undescribed.size > 0) stop(`package.json and the table in CONTRIBUTING.md differ: ${[...undescribed].join(", ")}`);

const failed: string[] = [];
const begun = performance.now();
for (const name of named.length > 0 ? named : checks) {
  process.stdout.write(`\n${name}: ${purposes.get(name)}\n`);
  const started = performance.now();
  const run = await execa("npm", ["run", "--silent", `check:${name}`], { stdio: "inherit", reject: false });
  if (run.failed) failed.push(name);
  process.stdout.write(`${run.failed ? "✗ FAILED:" : "✓"} ${name}, ${seconds(started)}\n`);
}
process.stdout.write(
  `\n${failed.length > 0 ? `Failed: ${failed.join(", ")}` : "Nothing failed"}; ${seconds(begun)} in all\n`,
);
process.exitCode = failed.length > 0 ? 1 : 0;

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

function stop(message: string): never {
  process.stderr.write(`check: ${message}\n`);
  process.exit(2);
}
