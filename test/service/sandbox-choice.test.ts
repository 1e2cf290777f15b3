/** SERVICE_SANDBOX=auto: the first sandbox that holds on this machine, and never none. */
import { expect, inject, it } from "vitest";
import type { LocalBackend } from "../../scripts/start/local-service.ts";
import { renderInit } from "../support/backend/test-backend.ts";
import { landlockNote } from "../support/backend/test-sandbox.ts";
import { startBackendAlone } from "../support/service/test-service.ts";

const NO_BUBBLEWRAP = { SERVICE_BUBBLEWRAP_BIN: "/nonexistent/bwrap" };
const NO_SETPRIV = { SERVICE_SETPRIV_BIN: "/nonexistent/setpriv" };

const startWithAuto = (environment: Readonly<Record<string, string>>) =>
  startBackendAlone({ SERVICE_SANDBOX: "auto", SERVICE_WARM_RENDERS: "0", ...environment });

/** The sandbox in which a backend renders, by its own words, after it has rendered. */
async function sandboxInUse({ url }: LocalBackend): Promise<unknown> {
  const answer = await fetch(new URL("/v1/render", url), renderInit({ source: "= Hello" }));
  expect(answer.status).toBe(200);
  const health: { sandbox: unknown } = JSON.parse(await (await fetch(new URL("/health", url))).text());
  return health.sandbox;
}

it("bubblewrap is used if it runs", async () => {
  const backend = await startWithAuto(NO_SETPRIV);
  expect(backend.errorText()).toBe("SERVICE_SANDBOX=auto: bubblewrap is used.");
  expect(await sandboxInUse(backend)).toBe("bubblewrap");
});

it.skipIf(landlockNote !== "")(`landlock is used if bubblewrap does not run${landlockNote}`, async () => {
  const setpriv = inject("setprivPath") ?? "";
  const backend = await startWithAuto({ ...NO_BUBBLEWRAP, SERVICE_SETPRIV_BIN: setpriv });
  expect(backend.errorText()).toMatch(
    /^SERVICE_SANDBOX=auto: landlock is used\. Typst does not run in the bubblewrap sandbox\. [^\n]+$/,
  );
  expect(await sandboxInUse(backend)).toBe("landlock");
});

it("a backend does not start if neither sandbox runs, and says why for each", async () => {
  await expect(startWithAuto({ ...NO_BUBBLEWRAP, ...NO_SETPRIV })).rejects.toThrow(
    /^Typst does not run in the bubblewrap sandbox\. .+ Typst does not run in the landlock sandbox\. [^\n]+$/,
  );
});
