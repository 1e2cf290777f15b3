/**
 * `npm run fuzz -- [bodies]`: the request parser against the slow validator on a million bodies, or as many as one
 * likes.
 */
import fc from "fast-check";
import { DEFAULT_LIMITS } from "../../rules/limits.ts";
import { lowLimits, mutatedBody, randomBody, requestBody } from "../support/rules/request-arbitraries.ts";
import { disagreement } from "../support/rules/verdicts.ts";

const BODIES_A_ROUND = 30_000;
const total = Number(process.argv[2] ?? 1_000_000);
if (!Number.isInteger(total) || total < 1) throw new Error("usage: npm run fuzz -- [bodies]");

const KINDS = [
  [requestBody, lowLimits],
  [mutatedBody, lowLimits],
  [randomBody, fc.constant(DEFAULT_LIMITS)],
] as const;

let validated = 0;
let different = 0;
const started = performance.now();
while (validated < total) {
  for (const [body, limits] of KINDS) {
    const numRuns = Math.min(BODIES_A_ROUND / KINDS.length, Math.max(0, total - validated));
    if (numRuns === 0) break;
    for (const [bytes, chosen] of fc.sample(fc.tuple(body, limits), numRuns)) {
      const difference = disagreement(bytes, chosen);
      if (difference === null) continue;
      different++;
      process.stdout.write(`${difference}\n${Buffer.from(bytes).toString("base64")}\n`);
    }
    validated += numRuns;
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stderr.write(`${validated} of ${total} bodies, ${different} disagreements, ${seconds} s\n`);
}
process.exitCode = different === 0 ? 0 : 1;
