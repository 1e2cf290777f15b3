/** Checks a page with axe-core. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect } from "vitest";

const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));

/** Expects that axe-core finds no violation of its rules. They reach into open shadow roots. */
export async function expectAccessible(page: Page): Promise<void> {
  // The debugger evaluates it, so the page's policy does not apply.
  const found: unknown = await page.evaluate(`${await readFile(AXE, "utf8")}
    ;axe.run().then(({ violations, passes }) => ({
      passes: passes.length,
      violations: violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]),
    }))`);
  expect(found).toEqual({ passes: expect.any(Number), violations: [] });
  expect(found).not.toEqual({ passes: 0, violations: [] });
}
