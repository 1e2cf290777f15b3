/** `npm run generate`: writes the generated files. With `--check` it only names those that are out of date. */
import { readFile, writeFile } from "node:fs/promises";
import { generateFiles } from "./generate/generated-files.ts";

const isCheck = process.argv.includes("--check");
let staleCount = 0;

for (const { path, content } of await generateFiles()) {
  const present = await readFile(path, "utf8").catch(() => null);
  if (present === content) continue;
  staleCount++;
  if (isCheck) process.stderr.write(`stale: ${path}\n`);
  else await writeFile(path, content);
}

if (isCheck && staleCount > 0) {
  process.stderr.write("Run `npm run generate` and commit the result.\n");
  process.exit(1);
}
process.stdout.write(isCheck ? "generated files are up to date\n" : `${staleCount} generated files written\n`);
