/** The playground with answers that no service gives, in a real browser and over real connections. */
import type { ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { brokenZip, HOSTILE_ANSWERS, LOW_LIMITS, lyingZip } from "../support/clients/hostile-answers.ts";
import { startScriptedService } from "../support/clients/scripted-service.ts";
import { API_TOKEN } from "../support/tokens.ts";
import { browserStage, openPage } from "./browser.ts";

const stage = browserStage({ settings: { SERVICE_MAX_OUTPUT_BYTES: String(LOW_LIMITS.max_output_bytes) } });

/** The playground, once it knows the limits, whose renders another server answers. */
async function openPlayground(answer: (response: ServerResponse) => void) {
  const server = await startScriptedService(answer);
  const page = await openPage(stage.browser, "about:blank");
  await page.route("**/v1/render", (route) => route.continue({ url: `${server.url}/v1/render` }));
  const limits = page.waitForResponse("**/v1/constraints");
  await page.goto(new URL(`/#token=${API_TOKEN}`, stage.service.edge.url).href);
  await (await limits).finished();
  return { page, server };
}

async function render(page: Page): Promise<void> {
  await page.evaluate('document.querySelector("#result-state").replaceChildren()');
  await page.getByRole("button", { name: "Render" }).click();
}

/** Chromium takes a redirect to no address for a connection that broke, and says so in its console. */
const ANSWERS = HOSTILE_ANSWERS.filter(([what]) => what !== "a redirect to no address");

it("says that something else has answered, and goes on", async () => {
  const current = { behaviour: ANSWERS[0]?.[1] };
  const { page, server } = await openPlayground((response) => current.behaviour?.(response));
  for (const [what, behaviour] of ANSWERS) {
    current.behaviour = behaviour;
    await render(page);
    await expect
      .poll(() => page.locator("#result-state").textContent(), { message: what })
      .toContain("Something else answered");
    // How much a browser takes before it hangs up depends on how busy the machine is.
    const newlySentBytes = async () => {
      const before = server.sentBytes();
      await setTimeout(100);
      return server.sentBytes() - before;
    };
    await expect.poll(newlySentBytes, { message: what }).toBe(0);
  }
  expect(server.bodies).toHaveLength(ANSWERS.length);
});

it.each([
  ["inflates to more than an output may have", lyingZip(50_000_000, 10), "too large"],
  ["is broken", brokenZip(), "broken"],
])("shows no archive that %s", async (_what, archive, words) => {
  const headers = { "Content-Type": "application/zip" };
  const { page } = await openPlayground((response) => void response.writeHead(200, headers).end(archive));
  await render(page);
  await expect.poll(() => page.locator("#result-document").textContent()).toContain(`it is ${words}.`);
});
