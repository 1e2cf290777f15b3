/** The memory that a body is read into. Its limits and deadlines: test/service/edge. */
import { expect, it } from "vitest";
import { BodyReader } from "../../../edge/body/read-body.ts";
import { WALL_CLOCK } from "../../../edge/clock.ts";

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
  const reader = new BodyReader(body);
  for (let count = 0; count < 4; count++) await reader.next(60_000);
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
  await new BodyReader(body, WALL_CLOCK, 20).next(60_000);
  expect(given).toEqual([20]);
});
