/** Finds Typst once and hands its path to the tests that run it. */
import type { TestProject } from "vitest/node";
import { locateBubblewrap } from "../scripts/bubblewrap-location.mjs";
import { locateTypst } from "../scripts/typst-location.mjs";

declare module "vitest" {
  interface ProvidedContext {
    /** Empty where the machine has none. */
    bubblewrapPath: string;
    typstPath: string;
  }
}

export default async function provideTypst(project: TestProject): Promise<void> {
  const bubblewrap = await locateBubblewrap();
  project.provide("bubblewrapPath", "path" in bubblewrap ? bubblewrap.path : "");
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  project.provide("typstPath", typst.path);
}
