/**
 * `npm run check:editorconfig`: checks every text file, committed or new, against `.editorconfig`.
 */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parse } from "editorconfig";
import { editorconfigViolations } from "./editorconfig-violations.ts";

const PROJECT = fileURLToPath(new URL("../", import.meta.url));

// All files except empty, binary and ignored ones.
const listing = execFileSync("git", ["grep", "-I", "-l", "-z", "--untracked", ""], { cwd: PROJECT, encoding: "utf8" });
const paths = listing.split("\0").filter((path) => path !== "");
let brokenCount = 0;
for (const path of paths) {
  const absolute = `${PROJECT}${path}`;
  for (const violation of editorconfigViolations(await readFile(absolute), await parse(absolute))) {
    brokenCount++;
    process.stderr.write(`${path}: ${violation}\n`);
  }
}
if (brokenCount > 0) process.exitCode = 1;
else process.stdout.write(`${paths.length} files are as .editorconfig says\n`);
