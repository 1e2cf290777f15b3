/** `/.well-known/security.txt`, by RFC 9116. */
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import app from "../../../edge/platform/cloudflare/worker.ts";
import { BASE_URL, expectProblem, send } from "../send.ts";

const PATH = "/.well-known/security.txt";
const CONTACTS = ["mailto:security@render.example", "https://render.example/security"];

const SETTINGS = { ...env, SERVICE_SECURITY_CONTACT: CONTACTS.join(" ") };
const ask = (method = "GET") => app.fetch(new Request(`${BASE_URL}${PATH}`, { method }), SETTINGS);

afterEach(() => void vi.useRealTimers());

it("names the operator's contacts in their order, and holds for 90 days", async () => {
  vi.useFakeTimers({ now: new Date("2026-11-28T09:00:00Z"), toFake: ["Date"] });
  const answer = await ask();
  expect([answer.status, answer.headers.get("Content-Type")]).toEqual([200, "text/plain; charset=utf-8"]);
  const [first, second] = CONTACTS;
  expect(await answer.text()).toBe(`Contact: ${first}\nContact: ${second}\nExpires: 2027-02-26T00:00:00Z\n`);
});

it("takes only GET", async () => {
  const answer = await ask("POST");
  expect(answer.headers.get("Allow")).toBe("GET, HEAD, OPTIONS");
  await expectProblem(answer, "method_not_allowed");
});

it("is not there without a contact", async () => {
  await expectProblem(await send(PATH), "not_found");
  await expectProblem(await send(PATH, { method: "POST" }), "not_found");
});
