/** Runs Typst's JSON parser on many texts at once. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { typstPath } from "../backend/typst-path.ts";

const MAX_STDERR_BYTES = 64 * 1024 * 1024;

/**
 * Lets Typst read each JSON text separately. An error in one context does not stop the others, so one run reads
 * thousands.
 *
 * @returns Typst's error for each text that it could not read, by the index of the text.
 */
export async function rejectionsByTypst(texts: readonly string[]): Promise<ReadonlyMap<number, string>> {
  // Typst reports equal errors only once, so line feeds give each text its own line and message.
  const program =
    '#for (index, text) in json("texts.json").enumerate() { context { let _ = json(bytes("\\n" * index + text)) } }';
  const messages = await errorsOf(program, texts);
  return new Map(
    messages.map((message) => {
      const [, reason = message, line = "0"] = /\((.*) at line (\d+) column/.exec(message) ?? [];
      return [Number(line) - 1, reason];
    }),
  );
}

/** The JSON texts, all of them objects, that Typst does not read as a dictionary. */
export async function changedByTypst(texts: readonly string[]): Promise<ReadonlySet<number>> {
  const program =
    '#for (index, text) in json("texts.json").enumerate() { context assert(type(json(bytes(text))) == dictionary, message: "changed " + str(index)) }';
  const messages = await errorsOf(program, texts);
  return new Set(messages.map((message) => Number(/changed (\d+)/.exec(message)?.[1])));
}

async function errorsOf(program: string, texts: readonly string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "typst-json-"));
  try {
    await writeFile(join(folder, "texts.json"), JSON.stringify(texts));
    await writeFile(join(folder, "main.typ"), program);
    const stderr = await compile(folder);
    return stderr.split("\n").filter((line) => line.includes(": error: "));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function compile(folder: string): Promise<string> {
  // Thousands of errors: to show the source with each takes ten times as long as to compile it.
  const args = ["compile", "--ignore-system-fonts", "--diagnostic-format=short", "main.typ", "out.pdf"];
  const options = {
    cwd: folder,
    extendEnv: false,
    maxBuffer: MAX_STDERR_BYTES,
    reject: false,
    stdin: "ignore",
  } as const;
  const { exitCode, shortMessage, stderr } = await execa(typstPath(), args, options);
  if (exitCode !== 0 && exitCode !== 1) throw new Error(shortMessage);
  return stderr;
}
