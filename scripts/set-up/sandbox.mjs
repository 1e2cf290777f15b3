/**
 * The system packages of the sandbox: looked for, never installed, because that takes rights a set-up should not have.
 */
import { findOnPath } from "../typst-location.mjs";
import { SetUpError } from "./report.mjs";

const PROGRAMS = [
  { program: "bwrap", debianPackage: "bubblewrap" },
  { program: "prlimit", debianPackage: "util-linux" },
];

/**
 * @param {import("../typst-location.mjs").Environment} env
 * @param {string} platform
 */
export async function checkSandbox(env = process.env, platform = process.platform) {
  const mode = env.SERVICE_SANDBOX || "bubblewrap";
  if (mode !== "bubblewrap") return;
  if (platform !== "linux") {
    throw new SetUpError(
      `Renders are sandboxed by bubblewrap, which ${platform} does not have. To try the service on this machine without ` +
        "a sandbox, say so: SERVICE_SANDBOX=none npm start",
    );
  }
  for (const { program, debianPackage } of PROGRAMS) {
    if ((await findOnPath(program, env)).length > 0) continue;
    throw new SetUpError(
      `${program} is missing: renders are sandboxed by it. Install it and run this again; on Debian and Ubuntu: ` +
        `sudo apt-get install -y ${debianPackage}`,
    );
  }
}
