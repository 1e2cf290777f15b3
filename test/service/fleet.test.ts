/**
 * An edge and several real backends under load, while backends are killed, stopped and replaced: no render is lost, and
 * none is answered with the file of another.
 */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { takeFreePort } from "../../scripts/start/local-service.ts";
import { ENDLESS, NO_TIME_LIMIT } from "../support/backend/bombs.ts";
import { parseMetrics, sampleValue } from "../support/readers/metrics-text.ts";
import { RawConnection, renderHead } from "../support/service/raw-connection.ts";
import { FAULTS, Load, startFleetEdge, TestFleet } from "../support/service/test-fleet.ts";
import { backendEnvironment } from "../support/service/test-service.ts";
import { API_TOKEN, BACKEND_TOKEN } from "../support/tokens.ts";

const CLIENTS = 4;
/** Between two events, so that each happens under load: some of each client. More cost time and find nothing else. */
const RENDERS_BETWEEN = 2 * CLIENTS;

/** The number of renders that run or wait at a backend. */
async function occupied(url: string): Promise<number> {
  const samples = parseMetrics(await (await fetch(new URL("/metrics", url))).text());
  return sampleValue(samples, "service_renders_running", {}) + sampleValue(samples, "service_renders_waiting", {});
}

/** The number of renders that a backend has answered. */
async function answered(url: string): Promise<number> {
  const samples = parseMetrics(await (await fetch(new URL("/metrics", url))).text());
  return sampleValue(samples, "service_render_requests_total", { format: "svg", outcome: "ok" });
}

/** Two backends that these tests share. The last test leaves them with other settings. */
let pair: TestFleet;

beforeAll(async () => {
  // The test of an edge that is replaced needs renders that only it ends.
  const backendSettings = { ...backendEnvironment(), ...NO_TIME_LIMIT };
  pair = await TestFleet.start({ backends: 2, backendSettings });
  return () => pair.stop();
});

it("an edge that is replaced leaves no render behind, and the next one serves", async () => {
  const endless = JSON.stringify({ source: ENDLESS });
  const client = await RawConnection.open(pair.edge.url);
  onTestFinished(() => client.reset());
  await client.write(renderHead({ "Content-Length": String(endless.length) }) + endless);
  const total = async () => (await occupied(pair.berth(0).url)) + (await occupied(pair.berth(1).url));
  await expect.poll(total).toBe(1);
  await pair.replaceEdge({});
  await expect.poll(total).toBe(0);
  const load = new Load(CLIENTS, () => pair.edge.url);
  await load.more(RENDERS_BETWEEN);
  expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
});

describe("under load", () => {
  describe("while one of three backends fails and comes back", () => {
    let fleet: TestFleet;

    beforeAll(async () => {
      fleet = await TestFleet.start({ backends: 3, backendSettings: backendEnvironment(), isLinked: true });
      return () => fleet.stop();
    });

    it.each(FAULTS)("no render is lost or wrong (%s)", async (fault) => {
      const { url } = fleet.berth(0);
      // One client finds out when the edge no longer avoids it because of the last fault.
      const before = await answered(url);
      const first = new Load(1, () => fleet.edge.url);
      await expect.poll(() => answered(url)).toBeGreaterThan(before);
      expect(await first.end()).toMatchObject({ lost: [], wrong: [] });
      const load = new Load(CLIENTS, () => fleet.edge.url);
      await load.during(expect.poll(() => occupied(url)).toBeGreaterThan(0));
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

  it("a client that reads slowly and one that sends slowly delay no others", async () => {
    const squares =
      '{"source":"#for n in range(12000) { place(dx: calc.rem(n, 90) * 1pt, square(size: 1pt)) }","output":{"format":"svg"}}';
    const open = async (head: Readonly<Record<string, string>>, body: string) => {
      const client = await RawConnection.open(pair.edge.url);
      onTestFinished(() => client.reset());
      await client.write(renderHead(head) + body);
      return client;
    };
    // It reads nothing before it is asked to.
    const reader = await open({ "Content-Length": String(squares.length), "Accept-Encoding": "identity" }, squares);
    const sender = await open({ "Content-Length": "14" }, "");
    const load = new Load(CLIENTS, () => pair.edge.url);
    for (const letter of '{"source":"x"}') {
      await load.more(CLIENTS);
      await sender.write(letter);
    }
    expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
    expect((await sender.answer())?.status).toBe(200);
    expect((await reader.answer())?.status).toBe(200);
  });

  // The backends of the first roll end at once, those of the second one after a drain delay.
  it("backends, an edge, a caller's token and that of the backends can be replaced one after another", async () => {
    let { edge } = pair;
    let token = API_TOKEN;
    const load = new Load(
      CLIENTS,
      () => edge.url,
      () => token,
    );
    const loaded = () => load.more(RENDERS_BETWEEN);
    const both = { SERVICE_BACKEND_TOKENS: `${BACKEND_TOKEN} new-token`, SERVICE_DRAIN_DELAY_SECONDS: "1" };
    expect(await pair.roll(both, loaded)).toEqual([0, 0]);
    await loaded();
    // Beside the old one, as Cloudflare replaces a Worker: requests that have begun end where they are.
    const newEdge = await startFleetEdge(pair.berths, await takeFreePort(), {
      SERVICE_BACKEND_TOKEN: "new-token",
      SERVICE_API_TOKENS: `billing:${API_TOKEN} billing:new-token`,
    });
    onTestFinished(() => newEdge.stop());
    edge = newEdge;
    await loaded();
    token = "new-token";
    expect(await pair.roll({ SERVICE_BACKEND_TOKENS: "new-token" }, loaded)).toEqual([0, 0]);
    await loaded();
    expect(await load.end()).toMatchObject({ lost: [], wrong: [] });
  });
});
