/** Finds Typst in exactly the version that the service runs: others report other mistakes. `test` takes any. */
import { resolve } from "node:path";
import { locateTypst } from "../../../typst/program-location.mjs";
import { anyTypstProblem, TYPST_VERSION, typstProblem } from "../../../typst/typst-release.mjs";
import { CommandError } from "../exit-codes.ts";

/** The Typst that the caller names, else `SERVICE_TYPST_BIN`, else one on PATH or in the user's cache. */
export async function findTypst(named: string | undefined): Promise<string> {
  if (named !== undefined) return requireTypst(named, typstProblem);
  const located = await locateTypst();
  if ("path" in located) return located.path;
  throw new CommandError(
    `${located.error} Or get Typst ${TYPST_VERSION} from https://github.com/typst/typst/releases and name it with --typst.`,
  );
}

export async function findTypstOfAnyVersion(named: string | undefined): Promise<string> {
  return named === undefined ? findTypst(named) : requireTypst(named, anyTypstProblem);
}

async function requireTypst(named: string, problemOf: (file: string) => Promise<string | undefined>): Promise<string> {
  const file = resolve(named);
  const problem = await problemOf(file);
  if (problem !== undefined) throw new CommandError(`--typst: ${problem}.`);
  return file;
}
