/** Follows the paths in the sources of a project: adds the files that they lead to, and says which lead to none. */
import { join, posix, relative, resolve } from "node:path";
import { closestPath, didYouMean } from "../../data-schema/similar-name.ts";
import { suggestFileKey } from "../../document/file-key-suggestion.ts";
import { isTypst } from "../../template/file-kinds.ts";
import { computingFunctions, readPaths, readsOf } from "../../template/reads.ts";
import { parseTemplate } from "../../template/syntax-tree.ts";
import type { CollectedFiles } from "../files/collected-files.ts";
import { NamedFiles } from "../files/computed-paths.ts";
import { isFile, walk } from "../files/disk.ts";
import { keyOf, readNamed } from "../files/folder.ts";
import { type SendingRules, whyNotSent } from "../files/unexpected-files.ts";
import { isUsual } from "./folder-files.ts";
import { leadsTo, type OutsidePath, rootThatHas } from "./root.ts";

export interface ReadingProject {
  readonly root: string;
  readonly sourceKey: string;
  readonly source: Buffer;
  /** What the source reads as `sys.inputs`. */
  readonly inputs?: ReadonlyMap<string, string> | undefined;
  /** The name of a file for messages. */
  readonly show: (key: string) => string;
  readonly rules: SendingRules;
}

export interface FollowedPaths {
  /** Files that a source reads and that do not exist, one sentence each. */
  readonly warnings: readonly string[];
  readonly outside: readonly OutsidePath[];
  /** Keys of files that are not sent although a string has their names, as no call that reads files has. */
  readonly onlyMentioned: ReadonlySet<string>;
  /** The functions that sources call with computed paths. */
  readonly computing: ReadonlySet<string>;
  /** What may be names of files in sources and files. */
  readonly named: NamedFiles;
}

interface MissingFile extends OutsidePath {
  /** The beginning of the sentence about it. */
  readonly what: string;
  /** Null if it is above the root. */
  readonly target: string | null;
  /** Why it is not sent, if it is there. */
  readonly why: string | undefined;
}

/** Enough to choose a root by. */
const MAX_OUTSIDE = 1000;

/** Adds the files that the source names, then the files that these name, and so on. */
export function followPaths(project: ReadingProject, files: CollectedFiles): FollowedPaths {
  const { root, sourceKey, source, inputs, show, rules } = project;
  const missing: MissingFile[] = [];
  const outside: OutsidePath[] = [];
  const computing = new Set<string>();
  const named = new NamedFiles();
  const refused = new Map<string, string>();
  const onlyMentioned = new Set<string>();
  const absent = new Set<string>();
  const queue = [{ key: sourceKey, bytes: source }];
  const seen = new Set([sourceKey]);
  const follow = (key: string, bytes: Buffer) => {
    if (!isTypst(key) || seen.has(key)) return;
    seen.add(key);
    queue.push({ key, bytes });
  };
  for (const [key, bytes] of files) follow(key, bytes);
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { key } = next;
    const template = parseTemplate(next.bytes.toString("utf8"));
    const folder = resolve(root, posix.dirname(key));
    for (const name of computingFunctions(template)) computing.add(name);
    // Longer inputs are data.
    const values = key === sourceKey ? [...(inputs?.values() ?? [])].filter(({ length }) => length <= 1024) : [];
    const reads = readPaths(template);
    const isRead = new Set([...reads.keys(), ...readsOf(template).reads.flatMap(({ mayBe }) => mayBe), ...values]);
    for (const literal of [...readsOf(template).strings, ...values]) {
      named.addLiteral(literal);
      const target = keyOf(literal, key);
      if (outside.length < MAX_OUTSIDE && /[^./]/.test(literal)) {
        const path = { path: literal, folder, shownAs: show(key) };
        if (target === null || (literal.startsWith("/") && !leadsTo(root, path))) outside.push(path);
      }
      if (target === null || target === sourceKey) continue;
      let bytes = files.get(target);
      if (bytes === undefined) {
        if (absent.has(target)) continue;
        if (!isFile(join(root, target))) {
          absent.add(target);
          continue;
        }
        const why = whyNotSent(target, isRead.has(literal), rules);
        if (why !== null && isRead.has(literal)) refused.set(target, why);
        else if (why !== null) onlyMentioned.add(target);
        if (why !== null) continue;
        bytes = readNamed(join(root, target), target, root);
        files.set(target, bytes);
      }
      follow(target, bytes);
    }
    // A file that several sources read is reported for each.
    for (const [path, line] of reads) {
      const target = keyOf(path, key);
      if (target === null || (!files.has(target) && target !== sourceKey)) {
        const what = `${show(key)}:${line} reads "${path}", which`;
        const why = target === null ? undefined : refused.get(target);
        missing.push({ what, target, path, folder, shownAs: show(key), why });
      }
    }
  }
  for (const [key, bytes] of files) named.addWords(key, bytes);
  for (const key of files.keys()) onlyMentioned.delete(key);
  return { warnings: describeMissingFiles(missing, root), outside, onlyMentioned, computing, named };
}

const MAX_MISSING = 20;

function describeMissingFiles(missing: readonly MissingFile[], root: string): string[] {
  if (missing.length === 0) return [];
  const nearby = nearbyFiles(root);
  const named = missing.slice(0, MAX_MISSING);
  const sentences = named.map(({ what, target, why, ...outside }) => {
    if (why !== undefined) return `${what} ${why}: to send it, name it with --files.`;
    if (target !== null && nearby.includes(target)) return `${what} is not a file that can be read.`;
    const wider = rootThatHas(root, outside);
    if (wider !== null) return `${what} is above the root; --root ${relative("", wider) || "."} reaches it.`;
    if (target === null) return `${what} is above the root.`;
    const meant = spelledOtherwise(target, nearby) ?? closestPath(target, nearby);
    // The path as it is written here would be the wrong one again.
    return `${what} does not exist.${didYouMean(meant === outside.path ? `/${meant}` : meant)}`;
  });
  const more = missing.length - MAX_MISSING;
  return more > 0 ? [...sentences, `Of the files that the sources read, ${more} more do not exist.`] : sentences;
}

/** A file that was renamed because its name is not allowed, or that a program has unpacked with umlauts of two characters. */
function spelledOtherwise(key: string, nearby: readonly string[]): string | null {
  const allowed = suggestFileKey(key, []);
  return nearby.find((one) => one === allowed || one.normalize("NFC") === key.normalize("NFC")) ?? null;
}

/** A folder may be of any size. The first files found are enough for suggestions. */
const MAX_NEARBY = 2000;

/** The keys of files below a folder, the shallow ones first. Hidden files and node_modules are left out. */
export function nearbyFiles(root: string): readonly string[] {
  const { files, others } = walk(root, { maxEntries: MAX_NEARBY, isWanted: isUsual });
  return [...files, ...others];
}
