/** The clients for TypeScript and Python, called alike: one table of tests is for both. */
import { afterAll } from "vitest";
import { ServiceClient } from "../../../clients/typescript/client.ts";
import { API_TOKEN } from "../tokens.ts";
import { hasPython, PythonDriver } from "./python-driver.ts";

const REQUEST = { source: "x" };

export interface CallOptions {
  readonly url: string;
  readonly checkBeforeSending?: boolean;
  readonly maxAttempts?: number;
  readonly silenceTimeoutSeconds?: number;
}

/** What a call returned or threw, and the waits that it told of. */
interface Outcome {
  readonly result: Readonly<Record<string, unknown>>;
  readonly events: readonly unknown[];
}

type Method = "render" | "constraints";
type Call = (method: Method, options: CallOptions) => Promise<Outcome>;

const describeReason = (reason: unknown) =>
  reason instanceof Error ? { ...reason, error: reason.name, message: reason.message } : reason;

async function callTypeScript(method: Method, { url, maxAttempts = 5, ...options }: CallOptions): Promise<Outcome> {
  const events: unknown[] = [];
  const client = new ServiceClient({ url, token: API_TOKEN, retry: { maxAttempts }, ...options });
  try {
    if (method === "constraints") return { result: { ...(await client.constraints()) }, events };
    const onRetry = (event: { readonly reason: unknown }) =>
      events.push({ ...event, reason: describeReason(event.reason) });
    const file = await client.render(REQUEST, { onRetry });
    if (!file.ok) return { result: { ...file }, events };
    const content = new TextDecoder("latin1").decode(await file.bytes());
    return { result: { ...file, content }, events };
  } catch (error) {
    return { result: Object(describeReason(error)), events };
  }
}

const inCamelCase = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(Object(value)).map(([name, member]) => [
      name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
      member,
    ]),
  );

async function callPython(
  driver: PythonDriver,
  method: Method,
  { url, maxAttempts = 5, checkBeforeSending = true, ...more }: CallOptions,
) {
  const { silenceTimeoutSeconds: silence = 300 } = more;
  const waits = { max_attempts: maxAttempts, silence_timeout_seconds: silence };
  const options = { ...waits, check_before_sending: checkBeforeSending };
  const { result, events } = await driver.call(method, { url, token: API_TOKEN, ...options }, REQUEST);
  return { result: inCamelCase(result), events: events.map(inCamelCase) };
}

/** Each client by its language, until the tests of the file have ended; that for Python where there is one. */
export function bothClients(): readonly (readonly [language: string, call: Call])[] {
  if (!hasPython()) return [["TypeScript", callTypeScript]];
  const driver = new PythonDriver();
  afterAll(() => driver.stop());
  return [
    ["TypeScript", callTypeScript],
    ["Python", (method, options) => callPython(driver, method, options)],
  ];
}
