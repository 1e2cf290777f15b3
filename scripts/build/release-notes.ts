/** `node scripts/build/release-notes.ts v1.2.3 [repository]`: what CHANGELOG.md says, only if all versions agree. */
import { readFile } from "node:fs/promises";
import project from "../../package.json" with { type: "json" };

const VERSION = project.version;
const [tag = "", repository] = process.argv.slice(2);
if (tag !== `v${VERSION}`) fail(`the tag ${tag || "(none)"} is not v${VERSION}, the version of package.json`);
for (const folder of project.workspaces) {
  const { version } = JSON.parse(await readFile(new URL(`../../${folder}/package.json`, import.meta.url), "utf8"));
  if (version !== VERSION) fail(`${folder}/package.json has version ${version}, package.json has ${VERSION}`);
}
const changelog = await readFile(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
const heading = `## [${VERSION}] - `;
const section = changelog.split(/^(?=## )/m).find((text) => text.startsWith(heading));
if (section === undefined) fail(`CHANGELOG.md has no section "${heading}DATE"`);
const notes = section.slice(section.indexOf("\n")).trim();
// On the page of a release, links to files of the repository must be absolute.
const isRelative = /\]\((?!https?:|#)([^)]+)\)/g;
process.stdout.write(
  `${repository === undefined ? notes : notes.replace(isRelative, `](${repository}/blob/${tag}/$1)`)}\n`,
);

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
