/**
 * What a text file breaks of the properties that `.editorconfig` gives it.
 */
import type { Props } from "editorconfig";

/** A property of `.editorconfig`, and which line breaks it (from 1), or null. Lines come without their line feed. */
type Check = (lines: readonly string[], value: unknown) => number | null;

const CHECKS: Readonly<Record<string, Check>> = {
  // Decoding has found what is not UTF-8; a byte order mark is its own charset in EditorConfig.
  charset: (lines, value) => firstLine(lines, (line, at) => value === "utf-8" && at === 0 && line.startsWith("\ufeff")),
  end_of_line: (lines, value) => firstLine(lines, (line) => value === "lf" && line.endsWith("\r")),
  insert_final_newline: (lines, value) => (value === true && lines.at(-1) !== "" ? lines.length : null),
  trim_trailing_whitespace: (lines, value) => firstLine(lines, (line) => value === true && /[ \t]\r?$/.test(line)),
  indent_style: (lines, value) => firstLine(lines, (line) => value === "space" && /^ *\t/.test(line)),
  // For editors: Biome holds code to it, and prose has indents of its own.
  indent_size: () => null,
  tab_width: () => null,
};

/**
 * The properties that a file breaks.
 *
 * @param properties what `.editorconfig` says of the file.
 * @returns one line of text per broken property, with the first place.
 * @throws Error for a property that is not checked here: nothing may stand in `.editorconfig` that does not hold.
 */
export function editorconfigViolations(content: Uint8Array, properties: Props): string[] {
  const lines = decode(content)?.split("\n");
  if (lines === undefined) return ["charset: not UTF-8"];
  return Object.entries(properties).flatMap(([name, value]) => {
    const check = CHECKS[name];
    if (check === undefined) throw new Error(`.editorconfig sets ${name}, which nothing checks.`);
    const line = check(lines, value);
    return line === null ? [] : [`${name}: line ${line}`];
  });
}

function decode(content: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return null;
  }
}

function firstLine(lines: readonly string[], isBad: (line: string, at: number) => boolean): number | null {
  const at = lines.findIndex(isBad);
  return at < 0 ? null : at + 1;
}
