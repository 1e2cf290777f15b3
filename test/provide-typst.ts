/**
 * Finds Typst, and a setpriv that knows Landlock, once, and hands their paths to the tests that run them; completes the
 * static files, which the Worker is tested with.
 */
import type { TestProject } from "vitest/node";
import { locateBubblewrap } from "../scripts/bubblewrap-location.mjs";
import { provideReferenceViewer } from "../scripts/reference-viewer.mjs";
import { locateTypst } from "../scripts/typst-location.mjs";
import { locateSetpriv } from "./debian-13/setpriv.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Empty where the machine has none. */
    bubblewrapPath: string;
    typstPath: string;
    /** Null where none is on this machine. */
    setprivPath: string | null;
  }
}

export default async function provideTypst(project: TestProject): Promise<void> {
  await provideReferenceViewer();
  const bubblewrap = await locateBubblewrap();
  project.provide("bubblewrapPath", "path" in bubblewrap ? bubblewrap.path : "");
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  project.provide("typstPath", typst.path);
  project.provide("setprivPath", await locateSetpriv());
}
