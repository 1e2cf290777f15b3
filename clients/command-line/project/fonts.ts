/**
 * The font files of a project that are sent: wherever they are below the root, those whose family a source names, and
 * those with characters that Typst's own fonts lack. No source names a font by its path, so one whose name cannot be a key
 * gets another.
 */
import { isUtf8 } from "node:buffer";
import { join } from "node:path";
import { isValidKey } from "../../../rules/files-rules.ts";
import { hasCharacter } from "../../../typst/fonts/characters.ts";
import { type FontFace, type FontReading, readFonts } from "../../../typst/fonts/font-file.ts";
import { isFont, isWebFont } from "../../../typst/fonts/font-names.ts";
import { charactersBeyondTypst, SCRIPTS_OF_TYPST, type Script, scriptsOfFonts } from "../../../typst/fonts/scripts.ts";
import { FAMILIES_OF_TYPST } from "../../../typst/fonts/typst-fonts.ts";
import { suggestFileKey } from "../../document/file-key-suggestion.ts";
import { readFamilyNames } from "../../document/fonts/missing-fonts.ts";
import { readsOf } from "../../template/reads.ts";
import { hasName } from "../../template/syntax-tree.ts";
import type { CollectedFiles } from "../files/collected-files.ts";
import { readIfFile, readNamed, STANDARD_INPUT } from "../files/folder.ts";
import type { SendingProject } from "./files-to-send.ts";
import { findFiles, searchRoot } from "./folder-files.ts";
import { templatesOf } from "./sent-texts.ts";

/** Of a larger collection of fonts, the first ones count. */
const MAX_FONTS = 1000;
/** A font that has it has emoji, which a source names: `emoji.rocket`. */
const GRINNING_FACE = 0x1f600;
const EMOJI: ReadonlySet<string> = new Set(["emoji"]);
/** Of data. */
const QUOTED = /"([^"\\\n]{1,500})"/g;

/**
 * Adds the fonts to what is sent.
 *
 * @param lacksPackages whether a package is imported that is not here, so that nobody knows what it names
 * @returns the keys of those that are added, of those that are not, with their families, and of fonts for web pages
 */
export function addFonts(project: SendingProject, lacksPackages: boolean, files: CollectedFiles) {
  const { root, isWhole, excluded } = project;
  // What the sources do not show may be in these.
  const own = new Set(findFiles(project, isWhole ? "" : "fonts"));
  const need = needOf(project, lacksPackages, files);
  const others = need.isOfTypst || isWhole ? [] : (searchRoot(project) ?? []);
  const keys = [...new Set([...own, ...others])].filter((key) => !excluded.has(join(root, key)) && !files.has(key));
  const unusedFonts: string[] = [];
  const unusedFamilies = new Set<string>();
  const added = new Set<string>();
  for (const key of keys.filter(isFont).slice(0, MAX_FONTS)) {
    const bytes = readNamed(join(root, key), key, root);
    const fonts = readFonts(bytes);
    if (isNeeded(need, fonts, own.has(key))) {
      files.set(key, bytes);
      added.add(key);
    } else {
      unusedFonts.push(key);
      for (const { family } of fonts) if (family !== null) unusedFamilies.add(family);
    }
  }
  const names = renameFonts(files);
  return {
    addedFonts: [...added].map((key) => names.get(key) ?? key),
    unusedFonts,
    unusedFamilies: [...unusedFamilies],
    webFonts: keys.filter(isWebFont),
  };
}

interface FontNeed {
  /** In lower case. */
  readonly families: ReadonlySet<string>;
  readonly characters: readonly number[];
  /** Whether Typst's own fonts have all of that. */
  readonly isOfTypst: boolean;
  /** Whether nobody knows which families the document asks for, or which scripts it is written in. */
  readonly hasUnknownFamilies: boolean;
  readonly hasUnknownScripts: boolean;
}

function needOf({ sourceKey, source, data }: SendingProject, lacksPackages: boolean, files: CollectedFiles): FontNeed {
  const parts = [...files].map(([key, bytes]) => ({ key, bytes }));
  const { named, areAll } = readFamilyNames({ source: source.toString("utf8"), files: parts });
  const texts = [source, ...data.map(readIfFile), ...files.values()].filter(isUtf8);
  const inWords = texts.map((bytes) => bytes.toString("utf8"));
  const characters = charactersBeyondTypst(inWords);
  const templates = templatesOf({ sourceKey, source, files: parts }).map(({ template }) => template);
  if (templates.some((template) => hasName(template, EMOJI))) characters.push(GRINNING_FACE);
  // Where a family is computed, any string of the sources or the data may be its name.
  const strings = () => [
    ...templates.flatMap((template) => readsOf(template).strings),
    ...inWords.flatMap((text) => Array.from(text.matchAll(QUOTED), ([, inside = ""]) => inside)),
  ];
  const possible = areAll ? [] : strings();
  const families = new Set([...named, ...possible.map((text) => text.toLowerCase())]);
  return {
    families,
    characters,
    isOfTypst: characters.length === 0 && [...families].every((family) => FAMILIES_OF_TYPST.has(family)),
    hasUnknownFamilies: lacksPackages || !areAll,
    hasUnknownScripts: data.includes(STANDARD_INPUT),
  };
}

function isNeeded(need: FontNeed, fonts: readonly FontReading[], isOwn: boolean): boolean {
  if (isOwn && need.hasUnknownFamilies) return true;
  const faces = fonts.flatMap(({ face }) => face ?? []);
  // What is no font is sent, so that the caller is told.
  if (isOwn && faces.length === 0) return true;
  if (isOwn && need.hasUnknownScripts && faces.some(hasOtherScripts)) return true;
  return (
    fonts.some(({ family }) => family !== null && need.families.has(family.toLowerCase())) ||
    faces.some(({ characters }) => need.characters.some((codePoint) => hasCharacter(characters, codePoint)))
  );
}

const ofTypst: ReadonlySet<Script> = new Set(SCRIPTS_OF_TYPST);

/** Which data may need. */
function hasOtherScripts(face: FontFace): boolean {
  return scriptsOfFonts([face]).some((script) => !ofTypst.has(script));
}

/** @returns the new names by the old ones */
function renameFonts(files: CollectedFiles): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [key, bytes] of [...files]) {
    if (!isFont(key) || isValidKey(key)) continue;
    files.delete(key);
    const name = suggestFileKey(key, files.keys());
    names.set(key, name);
    files.set(name, bytes);
  }
  return names;
}
