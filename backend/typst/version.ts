/**
 * Which Typst is there: asked once at start, so that a missing or wrong one is known before the first request.
 */
import { execa } from "execa";
import { SettingError } from "../../rules/settings.ts";
import type { BackendSettings } from "../settings.ts";
import { TYPST_VERSION } from "./release.mjs";

const ANSWER_TIMEOUT_MILLISECONDS = 10_000;

/**
 * The version of the configured Typst.
 *
 * @throws SettingError where it is missing or another release.
 */
export async function readTypstVersion({ typstPath }: BackendSettings): Promise<string> {
  const { stdout } = await execa(typstPath, ["--version"], {
    env: {},
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    timeout: ANSWER_TIMEOUT_MILLISECONDS,
  });
  const version = /^typst (\S+)/.exec(stdout ?? "")?.[1];
  if (version === TYPST_VERSION) return version;
  const found = version === undefined ? "was not found" : `is ${version}`;
  throw new SettingError(
    `Typst ${TYPST_VERSION} is needed, and "${typstPath}" ${found}. Set SERVICE_TYPST_BIN to a Typst ${TYPST_VERSION}.`,
  );
}
