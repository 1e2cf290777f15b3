/** Finds Typst once and hands its path to the tests that run it. */
import type { TestProject } from "vitest/node";
import { locateTypst } from "../scripts/typst-location.mjs";

declare module "vitest" {
  interface ProvidedContext {
    typstPath: string;
  }
}

export default async function provideTypst(project: TestProject): Promise<void> {
  const typst = await locateTypst();
  if ("error" in typst) throw new Error(typst.error);
  project.provide("typstPath", typst.path);
}
