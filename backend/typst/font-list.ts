/** Lists the fonts that every render finds, by running `typst fonts` in the sandbox with the options of a render. */
import type { FontFamily, FontVariant } from "../../protocol/capabilities.ts";
import { fontListArguments } from "../../typst/command-line.ts";
import { ServiceFailure } from "../error-log.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { BackendSettings } from "../settings.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import type { TypstSupervisor } from "./supervisor.ts";

/** Enough for thousands of fonts on a busy machine. An ordinary folder takes milliseconds. */
const LIST_TIMEOUT_MILLISECONDS = 30_000;
/** Enough for about ten thousand fonts. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

/** @throws ServiceFailure if Typst does not list them. */
export async function listFonts(
  settings: Pick<BackendSettings, "workDirectory">,
  sandbox: Sandbox,
  supervisor: TypstSupervisor,
): Promise<FontFamily[]> {
  const renderDirectory = await RenderDirectory.create(settings.workDirectory, false);
  const process = supervisor.startIn(renderDirectory, fontListArguments(sandbox.view(renderDirectory)));
  const chunks: Buffer[] = [];
  let size = 0;
  const append = async (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_LIST_BYTES) return "too-large";
    chunks.push(chunk);
    return "kept";
  };
  try {
    const { end } = await process.perform({
      input: [],
      timeoutMilliseconds: LIST_TIMEOUT_MILLISECONDS,
      signal: new AbortController().signal,
      output: { append },
      files: null,
    });
    if (end.kind !== "exited" || end.exitCode !== 0)
      throw new ServiceFailure(`Typst did not list its fonts (${end.kind})`);
    return parseFontList(Buffer.concat(chunks).toString("utf8"));
  } finally {
    void supervisor.discard({ process, renderDirectory });
  }
}

/**
 * Parses the output of `typst fonts --variants`. A family is one line. Below it, each of its fonts is the line of a
 * file, which begins with a mark, and `Style: Normal, Weight: 400, Stretch: 100%`, or the same on several lines, with
 * ranges, if the font is variable.
 */
export function parseFontList(list: string): FontFamily[] {
  const families = new Map<string, Map<string, FontVariant>>();
  for (const block of list.split(/\n\n+/)) {
    const [family = "", ...lines] = block.split("\n");
    if (family.trim() === "") continue;
    const variants = families.get(family) ?? new Map<string, FontVariant>();
    families.set(family, variants);
    const [, ...fonts] = lines.join("\n").split(/^ {2}[├└] .*$/m);
    for (const font of fonts) {
      const variant = variantOf(font);
      variants.set(JSON.stringify(variant), variant);
    }
  }
  return [...families].map(([family, variants]) => ({
    family,
    variants: [...variants.values()].sort(compareVariants),
  }));
}

function variantOf(font: string): FontVariant {
  const style = /Style: (Normal|Italic|Oblique)/.exec(font)?.[1]?.toLowerCase();
  return {
    style: style === "italic" || style === "oblique" ? style : "normal",
    weight: rangeOf(font, "Weight", 400),
    stretch_percent: rangeOf(font, "Stretch", 100),
  };
}

function rangeOf(font: string, name: string, usual: number): FontVariant["weight"] {
  const [, min, max] = new RegExp(`${name}: ([0-9.]+)%?(?:-([0-9.]+))?`).exec(font) ?? [];
  return { min: Number(min ?? usual), max: Number(max ?? min ?? usual) };
}

function compareVariants(left: FontVariant, right: FontVariant): number {
  const difference = left.stretch_percent.min - right.stretch_percent.min || left.weight.min - right.weight.min;
  return difference || (left.style < right.style ? -1 : 1);
}
