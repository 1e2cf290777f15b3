/**
 * What the deployment publishes: limits, versions of the rules, conformance vectors and the static documents.
 */
import { isDeepStrictEqual } from "node:util";
import { RULES_VERSION } from "../../rules/files-rules.ts";
import { LIMIT_SETTINGS, MAX_KEYS, publishedLimits } from "../../rules/limits.ts";
import { OUTPUT_RULES_VERSION } from "../../rules/output-rules.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import { checkRequest, runVectors } from "../../rules/published-rules.ts";
import { sizeInWords } from "../terminal.ts";
import { faultIn, isAnswer, jsonIn, problemIn } from "./answer-faults.ts";
import { capabilitiesPublished } from "./capabilities.ts";
import { type Check, type CheckGroup, deploymentCheck, found, ok, skipped, type Verdict } from "./check.ts";
import type { Examination } from "./examination.ts";
import { isRecord } from "./json-values.ts";
import type { Exchange } from "./probe.ts";
import { constraintsOf } from "./service.ts";

/** Vectors that are sent as requests. */
const MAX_SENT_VECTORS = 6;

const limits = deploymentCheck({
  id: "limits",
  title: "the limits are published",
  looksAt: "Each limit of `/v1/constraints` is there and within the range of its setting",
  needs: ["token"],
  faults: {
    missing: {
      severity: "warning",
      cause: "The deployment is of an older version, which does not have this limit.",
      advice: "Deploy the version of this checkout, or use the doctor of that version.",
    },
    "out-of-range": {
      severity: "failure",
      cause: "A limit has a value that no setting allows: something changes the document on its way.",
      advice: "Find out what changes the answer, and which version is deployed.",
    },
  },
  async run(examination) {
    const published: Readonly<Record<string, number>> = { ...constraintsOf(examination).parsed.limits };
    const missing = Object.keys(LIMIT_SETTINGS).filter((name) => !Object.hasOwn(published, name));
    const wrong = Object.entries(LIMIT_SETTINGS)
      .filter(([name, { min, max }]) => {
        const value = published[name];
        return value !== undefined && (value < min || value > max);
      })
      .map(([name]) => name);
    const { max_inline_files, effective_max_files } = published;
    if (max_inline_files !== undefined && effective_max_files !== Math.min(MAX_KEYS, max_inline_files)) {
      wrong.push("effective_max_files");
    }
    if (wrong.length > 0) return found("out-of-range", wrong.map((name) => `${name} = ${published[name]}`).join(", "));
    if (missing.length > 0) return found("missing", missing.join(", "));
    const { max_request_body_bytes = 0, max_output_bytes = 0 } = published;
    return ok(
      `requests up to ${sizeInWords(max_request_body_bytes)}, ${effective_max_files} files, outputs up to ${sizeInWords(max_output_bytes)}`,
      published,
    );
  },
});

const VERSION_FAULTS = {
  older: {
    severity: "warning",
    cause: "The deployment is older than this program, and has other rules.",
    advice: "Deploy the version of this checkout, or use the doctor of that version.",
  },
  newer: {
    severity: "warning",
    cause: "The deployment is newer than this program, and has other rules.",
    advice: "Update this program, and the clients that check requests by the old rules.",
  },
} as const;

function compareVersions(published: number, own: number): Verdict<keyof typeof VERSION_FAULTS> {
  if (published === own) return ok(String(published));
  return found(published < own ? "older" : "newer", `${published}; this program has ${own}`);
}

const rulesVersion = deploymentCheck({
  id: "rules-version",
  title: "rules_version",
  looksAt: "The version of the rules for the keys of `files`, against that of this program",
  needs: ["token"],
  faults: VERSION_FAULTS,
  async run(examination) {
    return compareVersions(constraintsOf(examination).parsed.rules_version, RULES_VERSION);
  },
});

const outputRulesVersion = deploymentCheck({
  id: "output-rules-version",
  title: "output_rules_version",
  looksAt: "The version of the rules for `output`, against that of this program",
  needs: ["token"],
  faults: VERSION_FAULTS,
  async run(examination) {
    const { output_rules } = constraintsOf(examination).parsed;
    return compareVersions(output_rules.output_rules_version, OUTPUT_RULES_VERSION);
  },
});

const vectors = deploymentCheck({
  id: "vectors",
  title: "the conformance vectors",
  looksAt: "All published conformance vectors by the rules of this program, as the command `vectors` does",
  needs: ["token"],
  faults: {
    disagree: {
      severity: "failure",
      cause: "This program and the deployment validate by different rules, so clients get wrong verdicts.",
      advice: "Bring both to one version; the command `vectors` shows each difference.",
    },
  },
  async run(examination) {
    const { parsed } = constraintsOf(examination);
    const count = parsed.conformance_vectors.length + parsed.output_rules.conformance_vectors.length;
    const disagreements = runVectors(parsed);
    if (disagreements.length > 0) return found("disagree", `${disagreements.length} of ${count} disagree`);
    return ok(`all ${count} agree`, { vectors: count });
  },
});

const vectorsEnforced = deploymentCheck({
  id: "vectors-enforced",
  title: "the edge keeps its own rules",
  looksAt: `${MAX_SENT_VECTORS} of the rejected vectors as real requests: the same status, code and rule`,
  needs: ["vectors"],
  faults: {
    otherwise: {
      severity: "failure",
      cause: "The edge does not do what it publishes: a proxy changes requests, or versions are mixed.",
      advice: "Check whether a deployment is half done, and what is in front of the edge.",
    },
  },
  async run(examination) {
    return compareRequests(rejectedRequests(examination), (body) =>
      examination.askWithToken({
        method: "POST",
        path: "v1/render",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  },
});

interface RejectedRequest {
  readonly body: object;
  readonly code: string;
  readonly rule: string | null;
}

/** A sample of the published rejections as requests. They are rejected before they cost a slot. */
export function rejectedRequests(examination: Examination): RejectedRequest[] {
  const { parsed } = constraintsOf(examination);
  const all = [
    ...parsed.conformance_vectors.map(({ keys, ...verdict }) => ({
      ...verdict,
      body: { source: "x", files: Object.fromEntries(keys.map((key) => [key, { encoding: "text", content: "" }])) },
    })),
    ...parsed.output_rules.conformance_vectors.map(({ output, ...verdict }) => ({
      ...verdict,
      body: { source: "x", output },
    })),
  ].flatMap(({ body, accepted, code, rule }) => {
    if (accepted || code === null || code === undefined) return [];
    // The limits of the deployment come before some rules: only vectors that they leave alone.
    const check = checkRequest(body, parsed);
    const isSame = check.verdict === "refused" && check.problem.code === code;
    return isSame ? [{ body, code, rule: rule ?? null }] : [];
  });
  // Small ones, evenly over the list.
  const small = all.filter(({ body }) => JSON.stringify(body).length < 10_000);
  const step = Math.max(1, small.length / MAX_SENT_VECTORS);
  return Array.from(
    { length: Math.min(MAX_SENT_VECTORS, small.length) },
    (_, index) => small[Math.floor(index * step)],
  ).filter((request) => request !== undefined);
}

/** Sends requests that must be rejected, until one is answered otherwise. */
export async function compareRequests(requests: readonly RejectedRequest[], send: (body: object) => Promise<Exchange>) {
  if (requests.length === 0) return skipped("no vectors that could be sent");
  for (const { body, code, rule } of requests) {
    const exchange = await send(body);
    const problem = problemIn(exchange);
    if (problem === null && !isAnswer(exchange, 200)) return faultIn(exchange);
    const context: object = problem?.context ?? {};
    const foundRule = "rule" in context ? context.rule : null;
    if (problem?.code !== code || foundRule !== rule) {
      const wanted = rule === null ? code : `${code} (${rule})`;
      return found("otherwise", `${wanted} expected, ${problem?.code ?? "200"} answered`);
    }
  }
  return ok(`${requests.length} of ${requests.length} as published`);
}

const DOCUMENT_FAULTS = {
  differs: {
    severity: "failure",
    cause: "The static files and the Worker are of different versions, or a cache still has the old file.",
    advice: "Deploy both together, as wrangler deploy and the image do, and purge what caches this path.",
  },
} as const;

/** A static document that is a part of what `/v1/constraints` says. */
function documentCheck(id: string, what: string, partOf: (document: PublishedDocument) => unknown): Check {
  return deploymentCheck({
    id,
    title: `${id}.json`,
    looksAt: `The static document is ${what}`,
    needs: ["token"],
    faults: DOCUMENT_FAULTS,
    async run(examination) {
      const exchange = await examination.ask({ path: `${id}.json` });
      const document = isAnswer(exchange, 200) ? jsonIn(exchange) : undefined;
      if (document === undefined) return faultIn(exchange);
      const isSame = isDeepStrictEqual(document, partOf(constraintsOf(examination).document));
      return isSame ? ok("as published") : found("differs", "not what /v1/constraints says");
    },
  });
}

type PublishedDocument = ReturnType<typeof constraintsOf>["document"];
const WITHOUT_LIMITS = "what `/v1/constraints` says, without limits and output rules";
const filesKeyRules = documentCheck("files-key-rules", WITHOUT_LIMITS, ({ limits, output_rules, ...rest }) => rest);
const OUTPUT_RULES = "`output_rules` of `/v1/constraints`";
const outputRules = documentCheck("output-rules", OUTPUT_RULES, ({ output_rules }) => output_rules);

const errorCodes = deploymentCheck({
  id: "error-codes",
  title: "error-codes.json",
  looksAt: "The static document has every error code with its status and origin",
  needs: ["health"],
  faults: {
    incomplete: {
      severity: "failure",
      cause: "The static files are of another version, or a cache still has the old one.",
      advice: "Deploy the edge again, and purge what caches this path.",
    },
  },
  async run(examination) {
    const exchange = await examination.ask({ path: "error-codes.json" });
    if (!isAnswer(exchange, 200)) return faultIn(exchange);
    const document = jsonIn(exchange);
    if (!isRecord(document) || !Array.isArray(document.codes)) return faultIn(exchange);
    const codes: readonly unknown[] = document.codes;
    const absent = Object.entries(PROBLEMS).filter(
      ([code, { status, origin }]) =>
        !codes.some(
          (entry) => isRecord(entry) && entry.code === code && entry.status === status && entry.origin === origin,
        ),
    );
    if (absent.length > 0) return found("incomplete", `without ${absent.map(([code]) => code).join(", ")}`);
    return ok(`${codes.length} codes`);
  },
});

const openapi = deploymentCheck({
  id: "openapi",
  title: "openapi.json",
  looksAt: "The interface description is served",
  needs: ["health"],
  faults: {},
  async run(examination) {
    const exchange = await examination.ask({ path: "openapi.json" });
    if (!isAnswer(exchange, 200)) return faultIn(exchange);
    const document = jsonIn(exchange);
    if (!isRecord(document) || !isRecord(document.info)) return faultIn(exchange);
    return ok(`version ${document.info.version}`);
  },
});

export const RULES: CheckGroup = {
  name: "Limits and rules",
  checks: [
    limits,
    rulesVersion,
    outputRulesVersion,
    vectors,
    vectorsEnforced,
    filesKeyRules,
    outputRules,
    errorCodes,
    openapi,
    capabilitiesPublished,
  ],
};

/** The limits as numbers, also those that are not published: these do not exist there. */
export function limitsOf(examination: Examination) {
  return publishedLimits(constraintsOf(examination).parsed.limits);
}
