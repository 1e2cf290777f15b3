/**
 * What the command line does about a project's files before it sends or compiles them. With `--strict` it refuses files that
 * are cut off. It leaves out fonts that it has added by itself and that are larger than a file of a request may be: the
 * service would refuse the whole document for a font that it may not need.
 */
import { sizeInWords } from "../document/size-in-words.ts";
import { CommandError, EXIT_CODES } from "./exit-codes.ts";
import type { Project } from "./project/project.ts";
import type { CallFlags } from "./service.ts";
import { knownConstraints } from "./service-cache.ts";
import { serviceUrl } from "./service-location.ts";
import { printableLine } from "./terminal.ts";

/**
 * @param signal to ask a service for its limits that has never been asked; null to go by those of a new deployment then
 * @throws CommandError with `--strict` if a file is cut off
 */
export async function fitFiles(
  project: Project,
  flags: CallFlags & { readonly strict?: true | undefined },
  signal: AbortSignal | null,
): Promise<Project> {
  if (flags.strict && project.cutOff.length > 0) throw new CommandError(project.cutOff.join("\n"), EXIT_CODES.template);
  const added = new Set(project.addedFonts);
  const known = await knownLimit(flags);
  const isLarger = (limit: number) => (file: Project["files"][number]) =>
    added.has(file.key) && file.bytes.length > limit;
  if (!project.files.some(isLarger(known.bytes))) return project;
  const limit = known.isPublished || signal === null ? known.bytes : await askLimit(flags, signal);
  const isLeftOut = isLarger(limit);
  const large = project.files.filter(isLeftOut);
  const notes = large.map(
    ({ key, bytes }) =>
      `${key} (${sizeInWords(bytes.length)}) is not sent, because a file of a request may have at most ${sizeInWords(limit)}: make a subset of the font, ask the operator to install it, or list it in .renderignore.`,
  );
  return {
    ...project,
    files: project.files.filter((file) => !isLeftOut(file)),
    unusedFonts: [...project.unusedFonts, ...large.map(({ key }) => key)],
    notes: [...project.notes, ...notes.map(printableLine)],
  };
}

async function knownLimit({ url }: CallFlags) {
  const { constraints, isPublished } = await knownConstraints(serviceUrl(url));
  return { bytes: constraints.limits.max_inline_file_bytes ?? Number.POSITIVE_INFINITY, isPublished };
}

/** If the service does not answer, the render itself says why. */
async function askLimit(flags: CallFlags, signal: AbortSignal): Promise<number> {
  const { openService } = await import("./service.ts");
  const { client } = await openService(flags);
  await client.constraints({ signal }).catch(() => null);
  return (await knownLimit(flags)).bytes;
}
