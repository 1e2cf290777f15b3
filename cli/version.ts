/**
 * The version of the command: that of the package, which the build puts in.
 */
import { readFileSync } from "node:fs";

/** Put in by scripts/build-cli.ts; in a checkout it is not there. */
declare const PACKAGE_VERSION: string | undefined;

export const VERSION: string = typeof PACKAGE_VERSION === "string" ? PACKAGE_VERSION : versionOfCheckout();

function versionOfCheckout(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
