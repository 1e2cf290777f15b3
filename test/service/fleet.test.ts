/**
 * An edge and several real backends under load, while backends are killed, stopped and replaced: no render is lost, and none is
 * answered with the file of another.
 */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { takeFreePort } from "../../scripts/local-service.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../support/bombs.ts";
import { parseMetrics, sampleValue } from "../support/metrics-text.ts";
import { RawConnection, renderHead } from "../support/raw-connection.ts";
import { FAULTS, Load, startFleetEdge, TestFleet } from "../support/test-fleet.ts";
import { backendEnvironment } from "../support/test-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../support/tokens.ts";

const CLIENTS = 4;
/** Between two events, so that each happens under load: some of each client. More cost time and find nothing else. */
const RENDERS_BETWEEN = 12;

async function startFleet(backends: number, firstSettings: Readonly<Record<string, string>> = {}): Promise<TestFleet> {
  const fleet = await TestFleet.start({ backends, backendSettings: backendEnvironment(), firstSettings });
  onTestFinished(() => fleet.stop());
  return fleet;
}

/** The number of renders that run or wait at a backend. */
async function occupied(url: string): Promise<number> {
  const samples = parseMetrics(await (await fetch(new URL("/metrics", url))).text());
  return sampleValue(samples, "service_renders_running", {}) + sampleValue(samples, "service_renders_waiting", {});
}

describe("under load", () => {
  /** Two backends that each of these tests leaves as it has found them. */
  let pair: TestFleet;

  beforeAll(async () => {
    pair = await TestFleet.start({ backends: 2, backendSettings: backendEnvironment() });
    return () => pair.stop();
  });

  it("one of two backends can be killed and come back, again and again", async () => {
    const fleet = pair;
    const load = new Load(CLIENTS, () => fleet.edge.url);
    for (const index of [0, 1, 0]) {
      await load.more(RENDERS_BETWEEN);
      await fleet.berth(index).end("SIGKILL");
      await load.more(RENDERS_BETWEEN);
      await fleet.berth(index).start({});
    }
    await load.more(RENDERS_BETWEEN);
    const { good, lost, wrong } = await load.end();
    expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
    expect(good).toBeGreaterThanOrEqual(7 * RENDERS_BETWEEN);
  });

  describe("while one of three backends fails and comes back", () => {
    let fleet: TestFleet;

    beforeAll(async () => {
      fleet = await TestFleet.start({ backends: 3, backendSettings: backendEnvironment(), isLinked: true });
      return () => fleet.stop();
    });

    it.each(FAULTS)("no render is lost or wrong (%s)", async (fault) => {
      const load = new Load(CLIENTS, () => fleet.edge.url);
      // Until it has work, even if the edge still avoids it because of the last fault.
      await expect.poll(() => occupied(fleet.berth(0).url)).toBeGreaterThan(0);
      await fleet.berth(0).disturb(fault);
      await load.more(RENDERS_BETWEEN);
      await load.round();
      await fleet.berth(0).heal(fault);
      await load.more(RENDERS_BETWEEN);
      const { lost, wrong, milliseconds } = await load.end();
      expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
      // The time budget of the edge.
      expect(Math.max(...milliseconds)).toBeLessThan(60_000);
    });
  });

  it.each([
    ["at once", {}],
    ["after a drain delay", { SERVICE_DRAIN_DELAY_SECONDS: "1" }],
  ])("all backends can be replaced one after another, each of which ends %s", async (_when, environment) => {
    const fleet = await startFleet(2, environment);
    const load = new Load(CLIENTS, () => fleet.edge.url);
    await load.more(RENDERS_BETWEEN);
    expect(await fleet.roll(environment)).toEqual([0, 0]);
    await load.more(RENDERS_BETWEEN);
    const { lost, wrong } = await load.end();
    expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
  });

  it("the token between edge and backends can be replaced", async () => {
    const both = { SERVICE_BACKEND_TOKENS: `${BACKEND_TOKEN} new-token` };
    const fleet = await startFleet(2);
    let edge = fleet.edge;
    const load = new Load(CLIENTS, () => edge.url);
    await load.more(RENDERS_BETWEEN);
    await fleet.roll(both);
    await load.more(RENDERS_BETWEEN);
    // Beside the old one, as Cloudflare replaces a Worker: requests that have begun end where they are.
    edge = await startFleetEdge(fleet.berths, await takeFreePort(), { SERVICE_BACKEND_TOKEN: "new-token" });
    const newEdge = edge;
    onTestFinished(() => newEdge.stop());
    await load.more(RENDERS_BETWEEN);
    await fleet.roll({ SERVICE_BACKEND_TOKENS: "new-token" });
    await load.more(RENDERS_BETWEEN);
    const { lost, wrong } = await load.end();
    expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
  });

  it("the token of a caller can be replaced", async () => {
    const fleet = pair;
    let edge = fleet.edge;
    let token = API_TOKEN;
    const load = new Load(
      CLIENTS,
      () => edge.url,
      () => token,
    );
    const replaceEdge = async (tokens: string) => {
      edge = await startFleetEdge(fleet.berths, await takeFreePort(), { SERVICE_API_TOKENS: tokens });
      const newEdge = edge;
      onTestFinished(() => newEdge.stop());
      await load.more(RENDERS_BETWEEN);
    };
    await load.more(RENDERS_BETWEEN);
    await replaceEdge(`billing:${API_TOKEN} billing:new-token`);
    token = "new-token";
    await load.more(RENDERS_BETWEEN);
    await replaceEdge("billing:new-token");
    const { lost, wrong } = await load.end();
    expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
  });

  it("a client that reads slowly and one that sends slowly delay no others", async () => {
    const fleet = pair;
    const squares =
      '{"source":"#for n in range(12000) { place(dx: calc.rem(n, 90) * 1pt, square(size: 1pt)) }","output":{"format":"svg"}}';
    const open = async (head: Readonly<Record<string, string>>, body: string) => {
      const client = await RawConnection.open(fleet.edge.url);
      onTestFinished(() => client.reset());
      await client.write(renderHead(head) + body);
      return client;
    };
    // It reads nothing before it is asked to.
    const reader = await open({ "Content-Length": String(squares.length), "Accept-Encoding": "identity" }, squares);
    const sender = await open({ "Content-Length": "14" }, "");
    const load = new Load(CLIENTS, () => fleet.edge.url);
    for (const letter of '{"source":"x"}') {
      await load.more(10);
      await sender.write(letter);
    }
    const { lost, wrong } = await load.end();
    expect({ lost, wrong }).toEqual({ lost: [], wrong: [] });
    expect((await sender.answer())?.status).toBe(200);
    expect((await reader.answer())?.status).toBe(200);
  });
});

it("an edge that is replaced leaves no render behind, and the next one serves", async () => {
  const fleet = await startFleet(2, NO_TIME_LIMIT);
  const endless = JSON.stringify({ source: ENDLESS });
  const client = await RawConnection.open(fleet.edge.url);
  onTestFinished(() => client.reset());
  await client.write(renderHead({ "Content-Length": String(endless.length) }) + endless);
  const total = async () => (await occupied(fleet.berth(0).url)) + (await occupied(fleet.berth(1).url));
  await expect.poll(total).toBe(1);
  await fleet.replaceEdge({});
  await expect.poll(total).toBe(0);
  const load = new Load(CLIENTS, () => fleet.edge.url);
  await load.more(RENDERS_BETWEEN);
  expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
});

it("a backend that has SIGTERM says so on /ready, and still renders for the drain delay", async () => {
  const fleet = await startFleet(1, { SERVICE_DRAIN_DELAY_SECONDS: "3" });
  const { url } = fleet.berth(0);
  expect((await fetch(new URL("/ready", url))).status).toBe(200);
  const ended = fleet.berth(0).end("SIGTERM");
  await expect.poll(async () => (await fetch(new URL("/ready", url))).status).toBe(503);
  const render = (origin: string | URL, headers: Readonly<Record<string, string>>) =>
    fetch(new URL("/v1/render", origin), {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: '{"source":"x"}',
    });
  const answer = await render(url, { "X-Service-Backend-Token": BACKEND_TOKEN });
  expect([answer.status, answer.headers.get("X-Service-Load")]).toEqual([
    200,
    expect.stringMatching(/^running=0,waiting=0,slots=\d+,draining$/),
  ]);
  expect((await render(fleet.edge.url, { "X-Service-Api-Token": API_TOKEN })).status).toBe(200);
  expect(await ended).toBe(0);
});
