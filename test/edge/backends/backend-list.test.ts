/** Which backends there are while DNS says one thing after another, or nothing. */
import { describe, expect, it } from "vitest";
import { parseBackendSources } from "../../../edge/backends/backend-address.ts";
import { BackendPool } from "../../../edge/backends/backend-list.ts";
import type { SrvAnswer, SrvRecord } from "../../../edge/backends/dns-names.ts";
import { StillClock } from "../still-clock.ts";
import { stubBackends } from "../stub-backends.ts";

const recordOf = (host: string, address: string | null = null, port = 8788): SrvRecord => ({ host, port, address });
const records = (...hosts: readonly string[]) => hosts.map((host) => recordOf(host));
const CHANGE = { added: [], removed: [], beyondLimit: 0 };

/** The backends of a setting. @param lookUp instead of answering at once what a test has last said */
function poolOf(setting: string, lookUp?: (service: string, clock: StillClock) => Promise<SrvAnswer>) {
  const clock = new StillClock();
  const said: Record<string, SrvAnswer> = {};
  const asked: string[] = [];
  const news: unknown[] = [];
  const changes: (readonly string[])[] = [];
  const pool = new BackendPool(parseBackendSources(setting), {
    clock,
    open: ({ name }) => stubBackends(name)[0],
    lookUp: async (service) => {
      asked.push(service);
      return lookUp?.(service, clock) ?? said[service] ?? [];
    },
    onChange: (backends) => changes.push(backends.map(({ name }) => name)),
    report: (_service, what) => news.push(what),
  });
  /** What is reported if a request comes when this is due and this is then said of the services. */
  const hear = async (answers: Readonly<Record<string, SrvAnswer>>) => {
    Object.assign(said, answers);
    await clock.pass(2000);
    await Promise.all(pool.renew());
    return news.splice(0);
  };
  return { pool, clock, asked, changes, hear, names: () => pool.backends.map(({ name }) => name) };
}

describe("a lookup", () => {
  it("is due at once, and again two seconds after an answer, or one after a failure", async () => {
    const { pool, clock, asked, hear } = poolOf("srv:a");
    await hear({ a: records("one.x") });
    await clock.pass(1999);
    expect(pool.renew()).toEqual([]);
    await clock.pass(1);
    await Promise.all(pool.renew());
    await hear({ a: "no answer" });
    await clock.pass(999);
    expect(pool.renew()).toEqual([]);
    await clock.pass(1);
    expect(pool.renew()).toHaveLength(1);
    expect(asked).toHaveLength(4);
  });

  it("of each service is made once at a time, whatever requests come", async () => {
    const { pool, clock, asked } = poolOf("srv:a srv:b", async (service, clock) => {
      await clock.wait(5000);
      return records(`${service}.x`);
    });
    void pool.renew();
    await clock.pass(4000);
    expect([pool.renew().length, asked]).toEqual([2, ["a", "b"]]);
    await clock.pass(2000);
    expect([pool.backends.length, asked]).toEqual([2, ["a", "b"]]);
  });
});

describe("a request", () => {
  it("waits three seconds for the first backend, and not a moment if one is known or if none is looked up", async () => {
    const waited = async (setting: string, foundAfter: number) => {
      const { pool, clock, names } = poolOf(setting, async (_service, clock) =>
        clock.now() < foundAfter ? "no answer" : records("one.x"),
      );
      let end: number | null = null;
      void pool.ready().then(() => {
        end = clock.now();
      });
      await clock.pass(10_000);
      return [end, names()];
    };
    expect(await waited("srv:a", 0)).toEqual([0, ["one"]]);
    expect(await waited("srv:a", 1500)).toEqual([2000, ["one"]]);
    expect(await waited("srv:a", 9000)).toEqual([3000, []]);
    expect(await waited("http://a.example srv:a", 9000)).toEqual([0, ["backend-1"]]);
    expect(await waited("", 0)).toEqual([0, []]);
  });
});

describe("the backends", () => {
  it("are those of the last answer, beside those that are listed", async () => {
    const { hear, names, changes } = poolOf("http://a.example srv:a");
    expect(await hear({ a: records("one.x", "two.x") })).toEqual([{ ...CHANGE, added: ["one", "two"] }]);
    expect(await hear({ a: records("two.x", "three.x") })).toEqual([{ ...CHANGE, added: ["three"], removed: ["one"] }]);
    expect(names()).toEqual(["backend-1", "two", "three"]);
    expect(changes).toEqual([["backend-1", "one", "two"], names()]);
  });

  it("stay while DNS fails or names none, which is reported once", async () => {
    const { hear, names } = poolOf("srv:a");
    await hear({ a: records("one.x") });
    const said: unknown[] = [];
    for (const a of ["no answer", "no answer", [], [], "no answer"]) said.push(...(await hear({ a })));
    expect(said).toEqual(["no answer", "it names no backend", "no answer"]);
    expect([names(), await hear({ a: records("one.x") })]).toEqual([["one"], []]);
    expect(await hear({ a: "no answer" })).toEqual(["no answer"]);
  });

  it("that stay are the same objects, whatever their order in the answer", async () => {
    const { pool, hear } = poolOf("srv:a");
    await hear({ a: records("one.x", "two.x") });
    const before = pool.backends;
    await hear({ a: records("two.x", "one.x", "one.x") });
    expect(pool.backends.map((backend) => before.indexOf(backend))).toEqual([0, 1]);
  });

  it("are other ones at another address or port: what was known of the last one is not true of them", async () => {
    const { pool, hear, names } = poolOf("srv:a");
    await hear({ a: [recordOf("one.x", "10.0.0.1")] });
    const [before] = pool.backends;
    await hear({ a: [recordOf("one.x", "10.0.0.2")] });
    const [after] = pool.backends;
    expect([before === after, names()]).toEqual([false, ["one"]]);
  });

  it("of several services are all there, and one that two name is there once", async () => {
    const { hear, names } = poolOf("srv:a eu=srv:b");
    await hear({ a: records("one.x", "two.x"), b: records("one.y", "two.x") });
    expect(names().sort()).toEqual(["eu-one", "eu-two", "one"]);
  });
});

it("the name of a backend is the first label of its host, with its port if another has that label, and its host if it has that as well", async () => {
  const { hear, names } = poolOf("two=http://a.example srv:a");
  await hear({
    a: [
      ...records("one.x", "two.x", "four.x"),
      recordOf("three.x", "10.0.0.3", 1),
      recordOf("three.x", "10.0.0.3", 2),
      recordOf("four.y", "10.0.0.4"),
    ],
  });
  expect(names().sort()).toEqual(["10.0.0.4:8788", "four.x:8788", "one", "three-1", "three-2", "two", "two-8788"]);
});

describe("the number of backends", () => {
  const many = (count: number, from = 0) =>
    records(...Array.from({ length: count }, (_, index) => `b${String(from + index).padStart(4, "0")}.x`));

  it("is at most 128, listed ones included, and what is beyond is reported", async () => {
    const { pool, hear } = poolOf("http://a.example srv:a");
    expect(await hear({ a: many(127) })).toMatchObject([{ beyondLimit: 0 }]);
    expect(await hear({ a: many(128) })).toEqual([{ ...CHANGE, beyondLimit: 1 }]);
    expect(await hear({ a: many(4000) })).toMatchObject([{ beyondLimit: 3873 }]);
    expect(pool.backends).toHaveLength(128);
  });

  it("leaves those in place that are known, and fills up with others when some go", async () => {
    const { hear, names } = poolOf("srv:a");
    await hear({ a: many(128, 100) });
    await hear({ a: many(228) });
    expect(names()[0]).toBe("b0100");
    expect(await hear({ a: many(200) })).toMatchObject([
      { added: { length: 28 }, removed: { length: 28 }, beyondLimit: 72 },
    ]);
  });

  it("holds for all services together", async () => {
    const { pool, hear } = poolOf("srv:a srv:b");
    expect(await hear({ a: many(100), b: many(100, 500) })).toMatchObject([{}, { beyondLimit: 72 }]);
    expect(pool.backends).toHaveLength(128);
  });
});
