/** What the limit on open files allows: everything at once stays below it, in the gate and in workerd. */
import { expect, it } from "vitest";
import { capacityOf, ENOUGH_OPEN_FILES, MIN_OPEN_FILES, parseMaxOpenFiles } from "../../gate/open-files.ts";

/** What each program has open by itself, and what a request takes in workerd (2026-11-28). */
const OWN = { gate: 26, workerd: 14, request: 4 };

it.each([MIN_OPEN_FILES, 1024, 4096, 65_536, ENOUGH_OPEN_FILES, 1_048_576])("fits into %d open files", (limit) => {
  const { connections, requests, posts, renders } = capacityOf(limit);
  expect(OWN.gate + connections + requests).toBeLessThan(limit);
  expect(OWN.workerd + requests * OWN.request).toBeLessThan(limit);
  // There is room for a refusal while all renders wait, and for a health check while all refusals are under way.
  expect(0 < renders && renders < posts && posts < requests && requests < connections).toBe(true);
});

it("grows with the limit until it is enough", () => {
  expect(capacityOf(1_048_576)).toEqual(capacityOf(ENOUGH_OPEN_FILES));
  expect(capacityOf(ENOUGH_OPEN_FILES)).not.toEqual(capacityOf(ENOUGH_OPEN_FILES - 4));
});

it("reads the soft limit as Linux writes it", () => {
  const limits = (soft: string) => `Max processes  7 8 processes\nMax open files            ${soft}   524288   files\n`;
  expect(parseMaxOpenFiles(limits("1024"))).toBe(1024);
  expect(parseMaxOpenFiles(limits("unlimited"))).toBe(ENOUGH_OPEN_FILES);
});
