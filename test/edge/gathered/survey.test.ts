/** Documents of all backends, asked for where a request may have six fetches that wait: a seventh would be queued. */
import { expect, it } from "vitest";
import { BackendSurvey } from "../../../edge/gathered/survey.ts";
import type { Backend } from "../../../edge/platform/platform.ts";
import { StillClock } from "../still-clock.ts";
import { stubBackends } from "../stub-backends.ts";

const MILLISECONDS_PER_SURVEY = 9500;

/** Backends that answer after some milliseconds, or never. */
function makeWorld(latencies: readonly number[], random = () => 0) {
  const clock = new StillClock();
  const backends = stubBackends(...latencies.keys());
  const fetches = { count: 0, waiting: 0, most: 0 };
  const survey = new BackendSurvey(
    async (backend, timeoutMilliseconds) => {
      const latency = latencies[backends.indexOf(backend)] ?? 0;
      fetches.count++;
      fetches.most = Math.max(fetches.most, ++fetches.waiting);
      await clock.wait(Math.min(latency, timeoutMilliseconds));
      fetches.waiting--;
      return latency > timeoutMilliseconds ? null : "text";
    },
    clock,
    random,
  );
  /** The indexes of those that answered, were silent, and were not asked. */
  const ask = async (listed: readonly Backend[] = backends) => {
    Object.assign(fetches, { count: 0, most: 0 });
    const asking = survey.ask(listed);
    await clock.pass(MILLISECONDS_PER_SURVEY);
    const answers = await asking;
    const those = (answer: string | null | undefined) => listed.filter((one) => answers.get(one) === answer);
    const [answered, silent, unasked] = [those("text"), those(null), those(undefined)].map(({ length }) => length);
    return { answered, silent, unasked, most: fetches.most, count: fetches.count };
  };
  return { ask, backends };
}

const NEVER = Number.POSITIVE_INFINITY;

it.each([
  ["none is silent, and each takes a quarter of a second", 128, 0, 250],
  ["six of twelve are silent", 12, 6, 10],
  ["six of 128 are silent", 128, 6, 10],
  ["twelve of 128 are silent", 128, 12, 10],
])("all that answer are heard, and no fetch is queued, when %s", async (_when, count, silent, latency) => {
  const { ask } = makeWorld(Array.from({ length: count }, (_, index) => (index < silent ? NEVER : latency)));
  expect(await ask()).toMatchObject({ answered: count - silent, silent, unasked: 0, most: 5, count });
});

it("those for which there is no time are told apart, and those that were silent are asked last from then on", async () => {
  const { ask } = makeWorld(Array.from({ length: 60 }, (_, index) => (index < 40 ? NEVER : 10)));
  expect(await ask()).toMatchObject({ answered: 0, silent: 15, unasked: 45 });
  expect(await ask()).toMatchObject({ answered: 0, silent: 30, unasked: 30 });
  expect(await ask()).toMatchObject({ answered: 20, silent: 40, unasked: 0 });
});

it("silent ones take turns, and are silent in between, so that an alert sees them down all the time", async () => {
  const latencies = Array.from({ length: 60 }, (_, index) => (index < 40 ? NEVER : 10));
  const { ask } = makeWorld(latencies);
  for (let survey = 0; survey < 3; survey++) await ask();
  for (let survey = 0; survey < 5; survey++)
    expect(await ask()).toMatchObject({ answered: 20, silent: 40, unasked: 0 });
  latencies[7] = 10;
  const answered: unknown[] = [];
  for (let survey = 0; survey < 4; survey++) answered.push((await ask()).answered);
  expect(answered.at(-1)).toBe(21);
});

it("where nothing is known yet, those listed first do not take the time of all others", async () => {
  const latencies = Array.from({ length: 100 }, (_, index) => (index < 20 ? NEVER : 10));
  let drawn = 0;
  const evenly = () => {
    drawn += (Math.sqrt(5) - 1) / 2;
    return drawn % 1;
  };
  const { answered = 0 } = await makeWorld(latencies, evenly).ask();
  expect(answered).toBeGreaterThan(20);
});

it("one that answers again counts as any other, and one that is no longer listed is forgotten", async () => {
  const latencies = [NEVER, 10];
  const { ask, backends } = makeWorld(latencies);
  expect(await ask()).toMatchObject({ answered: 1, silent: 1 });
  latencies[0] = 10;
  expect(await ask()).toMatchObject({ answered: 2, silent: 0 });
  expect(await ask(backends.slice(1))).toMatchObject({ answered: 1, silent: 0, unasked: 0 });
});
