import { readFileSync } from "node:fs";

/** The version of the package, inserted by scripts/build-package.ts; undefined in a checkout. */
declare const PACKAGE_VERSION: string | undefined;

export const VERSION: string = typeof PACKAGE_VERSION === "string" ? PACKAGE_VERSION : versionOfCheckout();

function versionOfCheckout(): string {
  const text = readFileSync(new URL("package.json", import.meta.url), "utf8");
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
