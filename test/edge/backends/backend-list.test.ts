/** Which backends there are while DNS says one thing after another, or nothing. */
import { describe, expect, it } from "vitest";
import { parseBackendSources } from "../../../edge/backends/backend-address.ts";
import { BackendList, BackendPool, type Lookup } from "../../../edge/backends/backend-list.ts";
import type { SrvAnswer, SrvRecord } from "../../../edge/backends/dns-names.ts";
import { StillClock } from "../still-clock.ts";
import { stubBackends } from "../stub-backends.ts";

const FAILED: SrvAnswer = { kind: "failed", reason: "no answer" };
const NONE: SrvAnswer = { kind: "none" };

const listOf = (setting: string) => new BackendList(parseBackendSources(setting));
const recordOf = (host: string, address: string | null = null, port = 8788): SrvRecord => ({ host, port, address });
const records = (...hosts: readonly string[]): SrvAnswer => ({
  kind: "records",
  records: hosts.map((host) => recordOf(host)),
});
const namesOf = (list: BackendList) => list.addresses.map(({ name }) => name);

function takeLookup(list: BackendList, now: number): Lookup {
  const [lookup] = list.takeDue(now);
  if (lookup === undefined) throw new Error("no lookup is due");
  return lookup;
}

/** Lets a lookup that is due now end with this answer. */
const answer = (list: BackendList, now: number, said: SrvAnswer) => list.recordAnswer(takeLookup(list, now), now, said);

describe("a lookup", () => {
  it("is due at once, and again two seconds after an answer, or one after a failure", () => {
    const list = listOf("srv:a");
    answer(list, 0, records("one.x"));
    expect([list.takeDue(1999).length, list.takeDue(2000).length]).toEqual([0, 1]);
    answer(list, 3000, FAILED);
    expect([list.takeDue(3999).length, list.takeDue(4000).length]).toEqual([0, 1]);
  });

  it("is handed out once, and again after a second without a result", () => {
    const list = listOf("srv:a srv:b");
    expect(list.takeDue(0).map(({ service }) => service.service)).toEqual(["a", "b"]);
    expect([list.takeDue(999).length, list.takeDue(1000).length]).toEqual([0, 2]);
  });

  it("that ends after a later one changes nothing", () => {
    const list = listOf("srv:a");
    const [early, late] = [takeLookup(list, 0), takeLookup(list, 1000)];
    list.recordAnswer(late, 1001, records("one.x"));
    expect(list.recordAnswer(early, 1002, records("two.x"))).toBeNull();
    expect(namesOf(list)).toEqual(["one"]);
  });
});

describe("the backends", () => {
  it("are those of the last answer, beside those that are listed", () => {
    const list = listOf("http://a.example srv:a");
    expect(answer(list, 0, records("one.x", "two.x"))).toEqual({ added: ["one", "two"], removed: [], beyondLimit: 0 });
    expect(namesOf(list)).toEqual(["backend-1", "one", "two"]);
    expect(list.addresses.map((address) => "isFromDns" in address)).toEqual([false, true, true]);
    expect(answer(list, 5000, records("two.x", "three.x"))).toEqual({
      added: ["three"],
      removed: ["one"],
      beyondLimit: 0,
    });
    expect(namesOf(list)).toEqual(["backend-1", "two", "three"]);
  });

  it("stay while DNS fails or names none, which is reported once", () => {
    const list = listOf("srv:a");
    answer(list, 0, records("one.x"));
    const said = [FAILED, FAILED, NONE, NONE, FAILED].map((each, index) => answer(list, 10_000 * (index + 1), each));
    expect(said).toEqual(["no answer", null, "it names no backend", null, "no answer"]);
    expect(namesOf(list)).toEqual(["one"]);
    expect(answer(list, 90_000, records("one.x"))).toBeNull();
    expect(answer(list, 100_000, FAILED)).toBe("no answer");
  });

  it("that stay are the same objects, whatever their order in the answer", () => {
    const list = listOf("srv:a");
    answer(list, 0, records("one.x", "two.x"));
    const before = [...list.addresses];
    answer(list, 5000, records("two.x", "one.x", "one.x"));
    expect(list.addresses.map((address) => before.indexOf(address))).toEqual([0, 1]);
  });

  it("are other ones at another address or port: what was known of the last one is not true of them", () => {
    const list = listOf("srv:a");
    answer(list, 0, { kind: "records", records: [recordOf("one.x", "10.0.0.1")] });
    const [before] = list.addresses;
    answer(list, 5000, { kind: "records", records: [recordOf("one.x", "10.0.0.2")] });
    const [after] = list.addresses;
    expect([before === after, namesOf(list)]).toEqual([false, ["one"]]);
  });

  it("of several services are all there, and one that two name is there once", () => {
    const list = listOf("srv:a eu=srv:b");
    const [one, other] = list.takeDue(0);
    if (one === undefined || other === undefined) throw new Error("two lookups are due");
    list.recordAnswer(one, 0, records("one.x", "two.x"));
    list.recordAnswer(other, 0, records("one.y", "two.x"));
    expect(list.addresses.map(({ name }) => name).sort()).toEqual(["eu-one", "eu-two", "one"]);
  });
});

it("the name of a backend is the first label of its host, with its port if another has that label, and its host if it has that as well", () => {
  const list = listOf("two=http://a.example srv:a");
  answer(list, 0, {
    kind: "records",
    records: [
      recordOf("one.x"),
      recordOf("two.x"),
      recordOf("three.x", "10.0.0.3", 1),
      recordOf("three.x", "10.0.0.3", 2),
      recordOf("four.x"),
      recordOf("four.y", "10.0.0.4"),
    ],
  });
  expect(namesOf(list).sort()).toEqual([
    "10.0.0.4:8788",
    "four.x:8788",
    "one",
    "three-1",
    "three-2",
    "two",
    "two-8788",
  ]);
});

describe("the number of backends", () => {
  const many = (count: number, from = 0) =>
    records(...Array.from({ length: count }, (_, index) => `b${String(from + index).padStart(4, "0")}.x`));

  it("is at most 128, listed ones included, and what is beyond is reported", () => {
    const list = listOf("http://a.example srv:a");
    expect(answer(list, 0, many(127))).toMatchObject({ beyondLimit: 0 });
    expect(answer(list, 5000, many(128))).toEqual({ added: [], removed: [], beyondLimit: 1 });
    expect(answer(list, 10_000, many(4000))).toMatchObject({ beyondLimit: 3873 });
    expect(list.addresses).toHaveLength(128);
  });

  it("leaves those in place that are known, and fills up with others when some go", () => {
    const list = listOf("srv:a");
    answer(list, 0, many(128, 100));
    answer(list, 5000, many(228));
    expect(namesOf(list)[0]).toBe("b0100");
    expect(answer(list, 10_000, many(200))).toMatchObject({
      added: { length: 28 },
      removed: { length: 28 },
      beyondLimit: 72,
    });
  });

  it("holds for all services together", () => {
    const list = listOf("srv:a srv:b");
    const [one, other] = list.takeDue(0);
    if (one === undefined || other === undefined) throw new Error("two lookups are due");
    list.recordAnswer(one, 0, many(100));
    expect(list.recordAnswer(other, 0, many(100, 500))).toMatchObject({ beyondLimit: 72 });
    expect(list.addresses).toHaveLength(128);
  });
});

it("a request looks up one service after the other, and another request those that are due meanwhile", async () => {
  const clock = new StillClock();
  const asked: string[] = [];
  const pool = new BackendPool(parseBackendSources("srv:a srv:b srv:c"), {
    clock,
    open: ({ name }) => stubBackends(name)[0],
    lookUp: async ({ service }) => {
      asked.push(service);
      await clock.wait(1000);
      return records(`${service}.x`);
    },
    onChange: () => {},
    report: () => {},
  });
  const first = pool.renew();
  expect(asked).toEqual(["a"]);
  await clock.pass(500);
  const second = pool.renew();
  expect(asked).toEqual(["a", "b"]);
  await clock.pass(2000);
  await Promise.all([first, second]);
  expect(asked).toEqual(["a", "b", "c"]);
  expect(pool.backends).toHaveLength(3);
});
