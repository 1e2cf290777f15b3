#!/usr/bin/env node
/**
 * The entry point of the command. It says which Node it needs before it loads anything that an older one cannot parse,
 * so it has nothing newer than dynamic imports, and no static ones.
 */
const MIN_MAJOR = 22;
const MIN_MINOR = 12;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major > MIN_MAJOR || (major === MIN_MAJOR && minor >= MIN_MINOR)) {
  // Node keeps what it has made of the program in the user's own cache: in one that all users share, others could change it.
  void import("../../typst/cache-folder.mjs").then(({ cacheFolder }) => {
    const { existsSync, mkdirSync } = process.getBuiltinModule("node:fs");
    const { dirname, join } = process.getBuiltinModule("node:path");
    const own = cacheFolder();
    const folder = join(own, "compiled");
    try {
      // One by one: on some file systems, Node 26 does not come back from making all at once.
      for (const path of [dirname(own), own, folder]) if (!existsSync(path)) mkdirSync(path);
      process.getBuiltinModule("node:module").enableCompileCache(folder);
    } catch {
      // Without a cache, it starts more slowly.
    }
    return import("./main.ts");
  });
} else {
  process.stderr.write(
    `document-rendering needs Node ${MIN_MAJOR}.${MIN_MINOR} or newer, and this is Node ${process.versions.node}: install a newer one from https://nodejs.org, or, if npm has installed the command in a folder of yours, run npm install node@24 there.\n`,
  );
  process.exitCode = 2;
}
