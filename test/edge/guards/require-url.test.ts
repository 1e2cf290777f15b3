/** The host names under which a deployment is served, inside workerd. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readHosts } from "../../../edge/settings.ts";
import app from "../../../edge/worker.ts";
import { SettingError } from "../../../rules/settings.ts";
import { expectProblem as expectContractProblem } from "../../support/problems.ts";

const LISTED = { ...env, SERVICE_HOSTS: "127.0.0.1 localhost, [::1]" };
const send = (url: string, settings: object = LISTED) => app.fetch(new Request(url), settings);

describe("a deployment that names its hosts", () => {
  it.each(["http://127.0.0.1:8787", "http://localhost", "https://[::1]:1", "http://LOCALHOST:8787"])(
    "serves %s",
    async (origin) => {
      expect((await send(`${origin}/health`)).status).toBe(200);
      expect((await send(`${origin}/`)).status).toBe(200);
    },
  );

  it.each([
    "http://evil.example:8787",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "http://127.0.0.2",
    "http://localhost.",
  ])("serves nothing but /health under %s, and says what to do", async (origin) => {
    expect((await send(`${origin}/health`)).status).toBe(200);
    for (const path of ["/", "/metrics", "/v1/constraints", "/nothing"]) {
      const { detail } = await expectContractProblem(await send(`${origin}${path}`), "forbidden");
      expect(detail).toContain("SERVICE_HOSTS");
    }
  });
});

it("a deployment that names none serves any", async () => {
  expect((await send("http://render.example/health", env)).status).toBe(200);
});

it.each(["http://localhost", "localhost:8787", "LOCALHOST", "*", "a/b"])("%s is not the name of a host", (entry) => {
  expect(() => readHosts({ SERVICE_HOSTS: `localhost ${entry}` })).toThrow(SettingError);
});
