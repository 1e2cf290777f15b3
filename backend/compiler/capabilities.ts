/** What is installed, for `GET /capabilities.json`: neither fonts nor packages may change while the backend runs. */
import { createHash } from "node:crypto";
import {
  capabilitiesOf,
  type FontFamily,
  type FontVariant,
  MAX_CAPABILITIES_BYTES,
} from "../../protocol/capabilities.ts";
import { formatPackageSpec, type PackageSpec } from "../../rules/package-spec.ts";
import { SettingError } from "../../rules/settings.ts";
import { fontListArguments } from "../../typst/command-line.ts";
import { TYPST_VERSION } from "../../typst/typst-release.mjs";
import { ServiceFailure } from "../error-log.ts";
import type { BackendSettings } from "../settings.ts";
import { RenderDirectory } from "../work-directory/render-directory.ts";
import { findScripts } from "./font-scripts.ts";
import type { OutputSink } from "./process.ts";
import type { TypstSupervisor } from "./supervisor.ts";
import { listPackages, PACKAGES_LOCK_NAME, PackageFolderError, readPackagesLock } from "./vendored-packages.ts";

export class InstalledCapabilities {
  readonly #settings: BackendSettings;
  readonly #supervisor: TypstSupervisor;
  #document: Promise<{ body: Buffer; digest: string }> | null = null;
  #digest: string | null = null;

  constructor(settings: BackendSettings, supervisor: TypstSupervisor) {
    this.#settings = settings;
    this.#supervisor = supervisor;
  }

  get digest(): string | null {
    return this.#digest;
  }

  /** A failure is not kept: the next call tries again. @throws SettingError if a folder of a setting cannot be used. */
  findDocument(): Promise<{ body: Buffer; digest: string }> {
    this.#document ??= this.#find().catch((error: unknown) => {
      this.#document = null;
      throw error;
    });
    return this.#document;
  }

  async #find(): Promise<{ body: Buffer; digest: string }> {
    const { packagePath, fontPaths, workDirectory } = this.#settings;
    const packages = packagePath === null ? [] : await findPackages(packagePath);
    const fonts = await listFonts(workDirectory, this.#supervisor);
    const scripts = await findScripts(fontPaths);
    const body = Buffer.from(JSON.stringify(capabilitiesOf(TYPST_VERSION, fonts, packages, scripts)));
    if (body.length > MAX_CAPABILITIES_BYTES) {
      throw new SettingError("SERVICE_FONT_PATHS names folders with more fonts than can be published. Remove some.");
    }
    this.#digest = createHash("sha256").update(body).digest("hex").slice(0, 32);
    return { body, digest: this.#digest };
  }
}

/** Must include all that the lock file lists. Their contents are compared by `npm run packages -- verify`. */
async function findPackages(folder: string): Promise<PackageSpec[]> {
  try {
    const installed = await listPackages(folder);
    const names = new Set(installed.map(formatPackageSpec));
    const missing = Object.keys((await readPackagesLock(folder))?.packages ?? {}).filter((name) => !names.has(name));
    if (missing.length === 0) return installed;
    throw new SettingError(
      `SERVICE_PACKAGE_PATH lacks ${missing.slice(0, 5).join(", ")}, which ${PACKAGES_LOCK_NAME} lists: run \`npm run packages -- install\`.`,
    );
  } catch (error) {
    throw error instanceof PackageFolderError ? new SettingError(`SERVICE_PACKAGE_PATH: ${error.message}`) : error;
  }
}

/** For thousands of fonts on a busy machine. */
const LIST_TIMEOUT_MILLISECONDS = 30_000;
/** For about ten thousand fonts. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

async function listFonts(workDirectory: string, supervisor: TypstSupervisor): Promise<FontFamily[]> {
  const process = supervisor.startIn(await RenderDirectory.create(workDirectory, false), fontListArguments);
  const chunks: Buffer[] = [];
  let size = 0;
  const sink: OutputSink = {
    append: async (chunk) => {
      size += chunk.length;
      if (size > MAX_LIST_BYTES) return "too-large";
      chunks.push(chunk);
      return "kept";
    },
    end: async () => "kept",
  };
  try {
    const { end } = await process.perform({
      programText: [],
      over: AbortSignal.timeout(LIST_TIMEOUT_MILLISECONDS),
      sink,
    });
    if (end.kind !== "exited" || end.exitCode !== 0)
      throw new ServiceFailure(`Typst did not list its fonts (${end.kind})`);
    return parseFontList(Buffer.concat(chunks).toString("utf8"));
  } finally {
    void supervisor.discard(process);
  }
}

/**
 * Parses the output of `typst fonts --variants`: the line of a family, and below it, for each of its fonts, the line of
 * a file, which begins with a mark, and `Style: Normal, Weight: 400, Stretch: 100%`, or that on several lines, with
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
      for (const variant of variantsOf(font)) variants.set(JSON.stringify(variant), variant);
    }
  }
  return [...families].map(([family, variants]) => ({
    family,
    variants: [...variants.values()].sort(compareVariants),
  }));
}

/** One variant for each style. Typst does not list the upright style of a font with an axis for italics or slant. */
function variantsOf(font: string): FontVariant[] {
  const range = { weight: rangeOf(font, "Weight", 400), stretch_percent: rangeOf(font, "Stretch", 100) };
  const named = /Style: (Normal|Italic|Oblique)/.exec(font)?.[1]?.toLowerCase();
  const styles: FontVariant["style"][] = [named === "italic" || named === "oblique" ? named : "normal"];
  if (/^\W*Italic: /m.test(font)) styles.push("italic");
  if (/^\W*Slant: /m.test(font)) styles.push("oblique");
  return styles.map((style) => ({ style, ...range }));
}

function rangeOf(font: string, name: string, usual: number): FontVariant["weight"] {
  const [, min, max] = new RegExp(`${name}: ([0-9.]+)%?(?:-([0-9.]+))?`).exec(font) ?? [];
  return { min: Number(min ?? usual), max: Number(max ?? min ?? usual) };
}

function compareVariants(left: FontVariant, right: FontVariant): number {
  const difference = left.stretch_percent.min - right.stretch_percent.min || left.weight.min - right.weight.min;
  return difference || (left.style < right.style ? -1 : 1);
}
