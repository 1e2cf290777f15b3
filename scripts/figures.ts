/** `npm run figures`: one page on how large the project is and how its tests do. It forbids nothing: whoever reviews a change reads it. */
import { readFileSync } from "node:fs";
import { execa } from "execa";
import { formatTable } from "./generate/markdown-table.ts";

const ROOT = new URL("../", import.meta.url);
const CODE = /\.(ts|mjs|js|py|sh|css|html)$/;
/** Many small programs, each by itself. */
const COLLECTIONS = /^(findings|examples)\//;

const { stdout } = await execa("git", ["ls-files", "-z"], { cwd: ROOT });
const files = stdout.split("\0").filter((name) => name !== "" && !COLLECTIONS.test(name));
const code = files.filter((name) => name.includes("/") && CODE.test(name));
const pages = files.filter((name) => /^(README\.md|docs\/.*\.md)$/.test(name));
const isTest = (name: string) => name.startsWith("test/");
const folderOf = (name: string) => /^(?:test\/)?([^/]+)\//.exec(name)?.[1] ?? "";

function read(name: string): string | null {
  try {
    return readFileSync(new URL(name, ROOT), "utf8");
  } catch {
    return null;
  }
}

const count = (names: readonly string[], mark: RegExp) =>
  names.reduce((sum, name) => sum + (read(name)?.match(mark)?.length ?? 0), 0);
const linesOf = (names: readonly string[]) => count(names, /\n/g);

interface StrykerReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>;
}

/** Mutants of a folder that tests have noticed, of all that `npm run mutation` has tried. */
function mutantsByFolder(): ReadonlyMap<string, string> {
  const report: StrykerReport = JSON.parse(read("out/mutation-results.json") ?? '{"files":{}}');
  const byFolder = Map.groupBy(Object.entries(report.files), ([name]) => folderOf(name));
  return new Map(
    [...byFolder].map(([folder, inside]) => {
      const mutants = inside.flatMap(([, file]) => file.mutants).filter(({ status }) => status !== "Ignored");
      const noticed = mutants.filter(({ status }) => status === "Killed" || status === "Timeout");
      return [folder, `${noticed.length} of ${mutants.length}`];
    }),
  );
}

/** Files of our own that import each other in a circle. */
async function filesInCircles(): Promise<number> {
  const layers = ["run", "--silent", "check:layers", "--", "--output-type", "json"];
  const { stdout: graph } = await execa("npm", layers, { cwd: ROOT, reject: false, maxBuffer: 1 << 28 });
  const { modules }: { modules: { dependencies: { circular: boolean }[] }[] } = JSON.parse(graph);
  return modules.filter(({ dependencies }) => dependencies.some(({ circular }) => circular)).length;
}

const mutants = mutantsByFolder();
const folders = [...new Set(code.map(folderOf))].toSorted();
const rows = folders.map((folder) => {
  const [tests = [], own = []] = [true, false].map((wanted) =>
    code.filter((name) => folderOf(name) === folder && isTest(name) === wanted),
  );
  return [folder, linesOf(own), linesOf(tests), mutants.get(folder) ?? "-"].map(String);
});
const sums = [code.filter((name) => !isTest(name)), code.filter(isTest)].map((names) => String(linesOf(names)));
const seconds = read("out/test-seconds")?.trim();

process.stdout.write(`${formatTable(["folder", "lines of code", "lines of tests", "mutants noticed"], [...rows, ["all", ...sums, "-"]])}

${count(pages, /\S+/g)} words in ${pages.length} pages (README.md, docs/)
${await filesInCircles()} files that import each other in a circle
${seconds === undefined ? "no whole `npm test` yet" : `${seconds} s for the last whole \`npm test\``}
`);
