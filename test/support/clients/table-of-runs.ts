/**
 * Tables of runs of the command: folders, the arguments, what is sent, and what is said. The tables say how they are read:
 * see test/clients/command-line/project/what-is-sent.txt.
 */
import { mkdir, rm, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { liberation, nameTable, withTables } from "../fonts.ts";
import { UNREACHABLE_URL } from "../tokens.ts";
import { makeProject, type ProjectFiles, runCommand } from "./command-line.ts";

export interface Row {
  readonly title: string;
  readonly files: Record<string, string | Uint8Array>;
  readonly links: Record<string, string>;
  readonly env: Record<string, string>;
  readonly args: string;
  /** The keys of the files beside the source; null for any. */
  readonly sent: string | null;
  readonly exitCode: number;
  readonly said: string[];
  readonly unsaid: string[];
}

type Tree = Pick<Row, "files" | "links" | "env">;

/** The folder of the package @local/letter:1.0.0 of the user. */
export const LETTER = ".local/share/typst/packages/local/letter/1.0.0";
const regular = await liberation("Regular");

/** @param made what is too large for a table, or is no text, by its name there */
export function readTable(table: string, made: Readonly<Record<string, ProjectFiles>>) {
  const trees = new Map<string, Tree>();
  for (const [name, files] of Object.entries(made)) trees.set(name, { files, links: {}, env: {} });
  const rows: Row[] = [];
  let tree: Tree = { files: {}, links: {}, env: {} };
  let title = "";
  for (const line of table.slice(table.indexOf("\n===\n") + 5).split("\n")) {
    const [sign, rest] = [line.slice(0, 2), line.slice(2)];
    const row = rows.at(-1);
    if (line === "") continue;
    else if (sign === "@ ") {
      tree = { files: {}, links: {}, env: {} };
      trees.set(rest, tree);
    } else if (sign === "# ") {
      const [words = "", names = ""] = rest.split(" + ");
      const parts = names === "" ? [] : names.split(" ").map((name) => trees.get(name) ?? fail(name));
      const together = (key: keyof Tree) => Object.assign({}, ...parts.map((part) => part[key]));
      tree = { files: together("files"), links: together("links"), env: together("env") };
      title = words;
    } else if (sign === "$ ") {
      const [, args = "", , sent, code] = /^(.*?)( =>(.*)| =! (\d))?$/.exec(rest) ?? [];
      rows.push({
        title,
        ...tree,
        args,
        sent: sent === undefined ? null : keysOf(sent),
        exitCode: Number(code ?? 0),
        said: [],
        unsaid: [],
      });
    } else if (sign === "? ") row?.said.push(rest);
    else if (sign === "! ") row?.unsaid.push(rest);
    else {
      const [, variable = "", value = ""] = /^% (\w+)=(.*)$/.exec(line) ?? [];
      const [, link, target = ""] = /^(\S+) -> (.*)$/.exec(line) ?? [];
      const [, path = line, text = "x"] = /^([^:]+):(?: |$)(.*)$/.exec(line) ?? [];
      if (variable !== "") tree.env[variable] = value;
      else if (link !== undefined) tree.links[link.replace("LETTER", LETTER)] = target;
      else tree.files[path.replace("LETTER", LETTER)] = contentOf(text);
    }
  }
  const filesOf = (name: string): ProjectFiles => trees.get(name)?.files ?? fail(name);
  return { rows, filesOf };
}

export function contentOf(text: string): string | Uint8Array {
  const [, family] = /^FONT (.*)$/.exec(text) ?? [];
  return family === undefined ? text.replaceAll("\\n", "\n") : withTables(regular, { name: nameTable(family) });
}

function fail(name: string): never {
  throw new Error(`there are no files ${name}`);
}

/** `folder/{a,b}` are two. */
export function keysOf(text: string): string {
  return text.trim().replace(/(\S*)\{([^}]*)\}/g, (_, folder: string, names: string) =>
    names
      .split(",")
      .map((name) => folder + name)
      .join(" "),
  );
}

const COMMANDS: ReadonlySet<string> = new Set(["render", "check", "test", "schema"]);

/** Runs a row, whose arguments are those of a dry run unless they begin with a command, and expects what it says. */
export async function expectRow(row: Row): Promise<void> {
  const { sent, text, exitCode } = await run(row);
  for (const words of row.said) expect(text).toContain(words);
  for (const words of row.unsaid) expect(text).not.toContain(words);
  if (row.sent !== null) expect(sent).toBe(row.sent);
  expect(exitCode).toBe(row.exitCode);
}

async function run({ files, links, env, args }: Row) {
  const folder = await makeProject(files);
  for (const [place, target] of Object.entries(links)) {
    await mkdir(dirname(join(folder, place)), { recursive: true });
    await rm(join(folder, place), { force: true });
    await symlink(target, join(folder, place));
  }
  const options = { env: { SERVICE_URL: UNREACHABLE_URL, ...env } };
  const words = args.split(" ");
  if (COMMANDS.has(words[0] ?? "")) {
    const { stdout, stderr, exitCode } = await runCommand(folder, words, options);
    return { sent: "", text: `${stdout}${stderr}`.replaceAll(folder, "~"), exitCode };
  }
  const run = await runCommand(folder, ["render", ...words, "--dry-run", "--json"], options);
  const plan = JSON.parse(run.stdout.trim().split("\n").at(-1) || "{}");
  const all: readonly { readonly part: string; readonly path: string }[] = plan.files ?? [];
  const sent = all.flatMap(({ part, path }) => (part === "file" ? [path] : [])).join(" ");
  const text = [...textsIn(plan), run.stderr].join("\n").replaceAll(folder, "~");
  return { sent, text, exitCode: run.exitCode };
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
