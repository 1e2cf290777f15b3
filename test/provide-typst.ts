/** Finds Typst, bubblewrap and a setpriv with Landlock once, and provides their paths to the tests. */
import type { TestProject } from "vitest/node";
import { locateBubblewrap, locateTypst } from "../typst/program-location.mjs";
import { locateSetpriv } from "./support/debian-13/setpriv.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Empty if the machine has none. */
    bubblewrapPath: string;
    typst: Awaited<ReturnType<typeof locateTypst>>;
    /** Null if there is none on this machine. */
    setprivPath: string | null;
  }
}

export default async function provideTypst(project: TestProject): Promise<void> {
  const bubblewrap = await locateBubblewrap();
  project.provide("bubblewrapPath", "path" in bubblewrap ? bubblewrap.path : "");
  project.provide("typst", await locateTypst());
  project.provide("setprivPath", await locateSetpriv());
}
