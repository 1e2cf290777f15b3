/**
 * Finds Typst on this machine, in exactly the version that the service runs: other versions report other mistakes.
 */
import { resolve } from "node:path";
import { locateTypst } from "../../machine/typst-location.mjs";
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { typstProblem } from "../../machine/typst-version.mjs";
import { CommandError } from "../exit-codes.ts";

/**
 * The path of Typst: the one that the caller names, else `SERVICE_TYPST_BIN`, else one on PATH or in the user's cache.
 *
 * @throws CommandError that says how to get one.
 */
export async function findTypst(named: string | undefined): Promise<string> {
  if (named !== undefined) {
    const problem = await typstProblem(resolve(named));
    if (problem === undefined) return resolve(named);
    throw new CommandError(`--typst: ${problem}.`);
  }
  const located = await locateTypst();
  if ("path" in located) return located.path;
  throw new CommandError(
    `${located.error} Or get Typst ${TYPST_VERSION} from https://github.com/typst/typst/releases and name it with --typst.`,
  );
}
