/** Checks a page with axe-core. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, vi } from "vitest";

/** While the PDF viewer draws a page, its links have no text to point to for a moment. A fault of ours stays. */
const DRAWING_MILLISECONDS = 20_000;

const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));

/** Expects that axe-core finds no violation of its rules once the page has been drawn. They reach into open shadow roots. */
export async function expectAccessible(page: Page): Promise<void> {
  // The debugger evaluates it, so the page's policy does not apply.
  await page.evaluate(await readFile(AXE, "utf8"));
  await vi.waitFor(() => expectNoViolations(page), { timeout: DRAWING_MILLISECONDS });
}

async function expectNoViolations(page: Page): Promise<void> {
  const found: unknown = await page.evaluate(`axe.run().then(({ violations, passes }) => ({
      passes: passes.length,
      violations: violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html.slice(0, 200))]),
    }))`);
  expect(found).toEqual({ passes: expect.any(Number), violations: [] });
  expect(found).not.toEqual({ passes: 0, violations: [] });
}

/** The names of all elements of a role that Chromium tells screen readers below a region of the page, as they are read. */
export async function namesTold(page: Page, region: string, role: string): Promise<string[]> {
  const debuggerSession = await page.context().newCDPSession(page);
  const { nodes } = await debuggerSession.send("Accessibility.getFullAXTree");
  await debuggerSession.detach();
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const namesBelow = (id: string): string[] => {
    const node = byId.get(id);
    if (node === undefined) return [];
    const own = node.role?.value === role ? [String(node.name?.value).trim()] : [];
    return [...own, ...(node.childIds ?? []).flatMap(namesBelow)];
  };
  const root = nodes.find((node) => node.role?.value === "region" && node.name?.value === region);
  return root === undefined ? [] : namesBelow(root.nodeId);
}
