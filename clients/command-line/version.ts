/** The version of the command: that of its package, inserted by the build. */
import { readFileSync } from "node:fs";

/** Inserted by scripts/build-package.ts; undefined in a checkout. */
declare const PACKAGE_VERSION: string | undefined;

export const VERSION: string = typeof PACKAGE_VERSION === "string" ? PACKAGE_VERSION : versionOfCheckout();

function versionOfCheckout(): string {
  const text = readFileSync(new URL("package.json", import.meta.url), "utf8");
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
