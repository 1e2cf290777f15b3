/** What the limit on open files allows: everything at once stays below it. */
import { expect, it } from "vitest";
import {
  capacityOf,
  ENOUGH_OPEN_FILES,
  MIN_OPEN_FILES,
  parseMaxOpenFiles,
} from "../../../../edge/platform/node/open-files.ts";

/** What the program has open by itself (2026-11-28). */
const OWN = 30;

it.each([MIN_OPEN_FILES, 1024, 4096, 65_536, ENOUGH_OPEN_FILES, 1_048_576])("fits into %d open files", (limit) => {
  const { connections, requests, waitingRenders, idleToBackends, toBackends } = capacityOf(limit);
  expect(OWN + connections + toBackends + requests.file).toBeLessThan(limit);
  expect(requests.render + idleToBackends).toBeLessThan(toBackends);
  // There is room for a refusal while all renders wait, and for every kind of request while all others are under way.
  expect(0 < waitingRenders && waitingRenders < requests.render).toBe(true);
  expect(Object.values(requests).reduce((sum, count) => sum + count)).toBeLessThan(connections);
});

it("grows with the limit until it is enough", () => {
  expect(capacityOf(1_048_576)).toEqual(capacityOf(ENOUGH_OPEN_FILES));
  expect(capacityOf(ENOUGH_OPEN_FILES)).not.toEqual(capacityOf(8192));
});

it("reads the soft limit as Linux writes it", () => {
  const limits = (soft: string) => `Max processes  7 8 processes\nMax open files            ${soft}   524288   files\n`;
  expect(parseMaxOpenFiles(limits("1024"))).toBe(1024);
  expect(parseMaxOpenFiles(limits("unlimited"))).toBe(ENOUGH_OPEN_FILES);
});
