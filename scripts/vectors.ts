/**
 * `npm run vectors -- <url>`: fetches the constraints of a deployment and runs its conformance vectors through the rules of
 * this checkout. The exit code is 0 when they come to every published verdict.
 */
import { asConstraints, runVectors } from "../rules/client.ts";
import { localToken } from "./local-token.ts";

const url = process.argv[2] ?? "http://127.0.0.1:8787";
const TIMEOUT_MILLISECONDS = 10_000;

if (!URL.canParse(url)) fail("Name a deployment: npm run vectors -- https://render.example");
const answer = await fetch(new URL("/v1/constraints", url), {
  headers: { "X-Service-Api-Token": (await localToken()) ?? "" },
  signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
}).catch(() => fail(`No response from ${url}.`));
if (answer.status === 403)
  fail("The deployment rejects the token. Set SERVICE_API_TOKENS to one of the deployment's tokens.");
const constraints = answer.ok ? asConstraints(await answer.json()) : null;
if (constraints === null) fail(`${url} returned status ${answer.status} and no constraints document.`);

const count = constraints.conformance_vectors.length + constraints.output_rules.conformance_vectors.length;
const disagreements = runVectors(constraints);
for (const disagreement of disagreements) process.stdout.write(`${JSON.stringify(disagreement)}\n`);
process.stdout.write(`${count - disagreements.length} of ${count} vectors agree\n`);
process.exitCode = disagreements.length === 0 ? 0 : 1;

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
