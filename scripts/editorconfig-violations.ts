/**
 * Finds the properties of `.editorconfig` that a text file violates.
 */
import type { Props } from "editorconfig";

/** The number (from 1) of the first line that violates a property, or null. The lines are given without their line feeds. */
type Check = (lines: readonly string[], value: unknown) => number | null;

const CHECKS: Readonly<Record<string, Check>> = {
  // Decoding has already rejected what is not UTF-8. In EditorConfig, a byte order mark makes another charset.
  charset: (lines, value) => firstLine(lines, (line, at) => value === "utf-8" && at === 0 && line.startsWith("\ufeff")),
  end_of_line: (lines, value) => firstLine(lines, (line) => value === "lf" && line.endsWith("\r")),
  insert_final_newline: (lines, value) => (value === true && lines.at(-1) !== "" ? lines.length : null),
  trim_trailing_whitespace: (lines, value) => firstLine(lines, (line) => value === true && /[ \t]\r?$/.test(line)),
  indent_style: (lines, value) => firstLine(lines, (line) => value === "space" && /^ *\t/.test(line)),
  // Only for editors: Biome checks it in code, and prose has other indents.
  indent_size: () => null,
  tab_width: () => null,
};

/**
 * The properties that a file violates.
 *
 * @param properties the properties that `.editorconfig` sets for the file.
 * @returns one line of text per violated property, with the number of the first line that violates it.
 * @throws Error for a property that is not checked here, because everything in `.editorconfig` must be checked.
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
