/** Finds Typst and bubblewrap once and hands their paths to the tests that run them. */
import type { TestProject } from "vitest/node";
import { locateBubblewrap } from "../scripts/bubblewrap-location.mjs";
import { locateTypst } from "../scripts/typst-location.mjs";

declare module "vitest" {
  interface ProvidedContext {
    typstPath: string;
    /** Empty where the machine has none. */
    bubblewrapPath: string;
  }
}

export default async function providePrograms(project: TestProject): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  project.provide("typstPath", typst.path);
  const bubblewrap = await locateBubblewrap();
  project.provide("bubblewrapPath", "path" in bubblewrap ? bubblewrap.path : "");
}
