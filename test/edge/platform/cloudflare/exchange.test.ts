/** The memory that a body is read into in workerd. Its limits and deadlines: test/service/edge. */
import { expect, it } from "vitest";
import { MONOTONIC_CLOCK } from "../../../../edge/clock.ts";
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
  for (let count = 0; count < 4; count++) await reader.next(60_000, MONOTONIC_CLOCK);
  expect(given).toEqual([4096, 4096, 65_536, 65_536]);
});

it("64 bodies at a time get large reads, each until it is over, whether its length is known or not", async () => {
  const sizes: number[] = [];
  const bodyOf = (length: string | null) => {
    let left = 3;
    const stream = new ReadableStream({
      type: "bytes",
      pull(controller) {
        const bytes = controller.byobRequest?.view?.byteLength ?? 0;
        sizes.push(bytes);
        if (left-- > 0) return controller.byobRequest?.respond(bytes);
        controller.close();
        controller.byobRequest?.respond(0);
      },
    });
    return new StreamedBody(stream, length);
  };
  const begin = async (length: string | null) => {
    const body = bodyOf(length);
    for (let read = 0; read < 2; read++) await body.next(60_000, MONOTONIC_CLOCK);
    return { body, isLarge: sizes.at(-1) === 65_536 };
  };
  const lengths = Array.from({ length: 64 }, (_, index) => (index % 2 === 0 ? null : String(4096 + 2 * 65_536)));
  const all = await Promise.all(lengths.map((length) => begin(length)));
  expect((await begin(null)).isLarge).toBe(false);
  for (const { body } of all) {
    await body.next(60_000, MONOTONIC_CLOCK);
    await body.next(60_000, MONOTONIC_CLOCK);
  }
  expect((await begin(null)).isLarge).toBe(true);
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
  await new StreamedBody(body, "20").next(60_000, MONOTONIC_CLOCK);
  expect(given).toEqual([20]);
});
