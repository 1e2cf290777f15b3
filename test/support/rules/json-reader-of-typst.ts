/** Runs Typst's JSON parser on many texts at once. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { typstPath } from "../backend/typst-path.ts";

const MAX_STDERR_BYTES = 64 * 1024 * 1024;

/** Typst's error for each text that it could not read, by the index of the text. */
export type Rejections = ReadonlyMap<number, string>;

/**
 * Lets Typst read each JSON text separately. An error in one context does not stop the others, so one run reads
 * thousands.
 */
export async function rejectionsByTypst(texts: readonly string[]): Promise<Rejections> {
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

function compile(folder: string): Promise<string> {
  const options = { cwd: folder, env: {}, encoding: "utf8", maxBuffer: MAX_STDERR_BYTES } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(
      typstPath(),
      // Thousands of errors: to show the source with each takes ten times as long as to compile it.
      ["compile", "--ignore-system-fonts", "--diagnostic-format=short", "main.typ", "out.pdf"],
      options,
      (error, _stdout, stderr) => {
        if (error === null || error.code === 1) resolve(stderr);
        else reject(error);
      },
    );
    child.stdin?.end();
  });
}
