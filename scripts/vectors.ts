/**
 * `npm run vectors -- <address>`: fetches a deployment's constraints and runs its published conformance vectors through
 * the rules of this checkout. Exit code 0 where both validate alike.
 */
import { asConstraints, runVectors } from "../rules/client.ts";
import { localToken } from "./local-token.ts";

const address = process.argv[2] ?? "http://127.0.0.1:8787";
const TIMEOUT_MILLISECONDS = 10_000;

if (!URL.canParse(address)) fail("Say which deployment: npm run vectors -- https://render.example");
const answer = await fetch(new URL("/v1/constraints", address), {
  headers: { "X-Service-Api-Token": (await localToken()) ?? "" },
  signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
}).catch(() => fail(`No answer from ${address}.`));
if (answer.status === 403) fail("The token is refused. Set SERVICE_API_TOKENS to one of the deployment's tokens.");
const constraints = answer.ok ? asConstraints(await answer.json()) : null;
if (constraints === null) fail(`${address} answers ${answer.status}, and not with constraints.`);

const count = constraints.conformance_vectors.length + constraints.output_rules.conformance_vectors.length;
const disagreements = runVectors(constraints);
for (const disagreement of disagreements) process.stdout.write(`${JSON.stringify(disagreement)}\n`);
process.stdout.write(`${count - disagreements.length} of ${count} vectors agree\n`);
process.exitCode = disagreements.length === 0 ? 0 : 1;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
