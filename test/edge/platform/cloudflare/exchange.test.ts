/** The memory that a body is read into in workerd. Its limits and deadlines: test/service/edge. */
import { expect, it } from "vitest";
import { WALL_CLOCK } from "../../../../edge/clock.ts";
import { StreamedBody } from "../../../../edge/platform/cloudflare/exchange.ts";

it("a read gets little memory until a client has filled it", async () => {
  const given: number[] = [];
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const view = controller.byobRequest?.view;
      given.push(view?.byteLength ?? 0);
      controller.byobRequest?.respond(given.length === 1 ? 1 : (view?.byteLength ?? 0));
    },
  });
  const reader = new StreamedBody(body, null);
  for (let count = 0; count < 4; count++) await reader.next(60_000, WALL_CLOCK);
  expect(given).toEqual([4096, 4096, 65_536, 65_536]);
});

it("a first read gets no more memory than the body is long", async () => {
  const given: number[] = [];
  const body = new ReadableStream({
    type: "bytes",
    pull(controller) {
      given.push(controller.byobRequest?.view?.byteLength ?? 0);
      controller.byobRequest?.respond(20);
    },
  });
  await new StreamedBody(body, "20").next(60_000, WALL_CLOCK);
  expect(given).toEqual([20]);
});
