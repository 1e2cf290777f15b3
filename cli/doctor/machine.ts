/**
 * What this machine has for the other commands.
 */
import { CommandError } from "../exit-codes.ts";
import { findTypst } from "../local/typst.ts";
import { type CheckGroup, deploymentCheck, ok, skipped } from "./check.ts";

const typst = deploymentCheck({
  id: "local-typst",
  title: "Typst for the command `check`",
  looksAt: "Whether this machine has the Typst that `document-rendering check` needs; the deployment does not need it",
  needs: [],
  faults: {},
  async run({ target }) {
    try {
      return ok(await findTypst(target.typst));
    } catch (error) {
      if (error instanceof CommandError) return skipped("none found");
      throw error;
    }
  },
});

export const MACHINE: CheckGroup = { name: "This machine", checks: [typst] };
