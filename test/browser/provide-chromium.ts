/** Finds a Chromium once for all browser tests, and provides its path to them. */
import type { TestProject } from "vitest/node";
import { locateChromium } from "./chromium.ts";

declare module "vitest" {
  interface ProvidedContext {
    chromiumPath: string;
  }
}

export default async function provideChromium(project: TestProject): Promise<void> {
  project.provide("chromiumPath", await locateChromium());
}
