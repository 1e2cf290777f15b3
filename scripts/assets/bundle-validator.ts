/** Plugins for bundles with the validator of clients/data-schema/: without 171 kB of tables for unchecked formats. */
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";

const BROWSER_PACKAGE = new URL("../../node_modules/@hyperjump/browser/lib/", import.meta.url);

/** Packages that the validator imports as a whole and uses in part, and that do nothing when they are loaded. */
const UNUSED_PARTS = /^(?:idn-hostname|@hyperjump\/json-schema-formats)$/;

export const WITHOUT_UNUSED_FORMATS: Plugin = {
  name: "without-unused-formats",
  setup(build) {
    build.onResolve({ filter: UNUSED_PARTS }, async ({ path, pluginData, ...from }) => {
      if (pluginData === UNUSED_PARTS) return undefined;
      const resolved = await build.resolve(path, { ...from, pluginData: UNUSED_PARTS });
      return { ...resolved, sideEffects: false };
    });
  },
};

/** For a browser: the package has these files for it under a field that esbuild does not read beside `exports`. */
export const BROWSER_ALIASES = {
  "@hyperjump/browser/jref": fileURLToPath(new URL("jref/index.js", BROWSER_PACKAGE)),
  "@hyperjump/browser": fileURLToPath(new URL("index.browser.js", BROWSER_PACKAGE)),
};
