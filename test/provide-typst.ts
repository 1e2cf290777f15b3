/** Finds Typst, bubblewrap and a setpriv with Landlock once, and provides their paths to the tests. */
import type { TestProject } from "vitest/node";
import { locateBubblewrap } from "../machine/bubblewrap-location.mjs";
import { locateTypst } from "../machine/typst-location.mjs";
import { locateSetpriv } from "./debian-13/setpriv.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Empty if the machine has none. */
    bubblewrapPath: string;
    typstPath: string;
    /** Null if there is none on this machine. */
    setprivPath: string | null;
  }
}

export default async function provideTypst(project: TestProject): Promise<void> {
  const bubblewrap = await locateBubblewrap();
  project.provide("bubblewrapPath", "path" in bubblewrap ? bubblewrap.path : "");
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  project.provide("typstPath", typst.path);
  project.provide("setprivPath", await locateSetpriv());
}
