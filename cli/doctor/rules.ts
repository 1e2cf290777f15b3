/**
 * What the deployment publishes: limits, versions of the rules, conformance vectors, static documents and what is installed.
 */
import { isDeepStrictEqual } from "node:util";
import * as v from "valibot";
import type { PublishedConstraints } from "../../client/client.ts";
import { TYPST_VERSION } from "../../machine/typst-release.mjs";
import { CAPABILITIES_PATH, CAPABILITIES_SCHEMA } from "../../protocol/capabilities.ts";
import { RULES_VERSION } from "../../rules/files-rules.ts";
import { LIMIT_SETTINGS, MAX_KEYS } from "../../rules/limits.ts";
import { OUTPUT_RULES_VERSION } from "../../rules/output-rules.ts";
import { PROBLEMS } from "../../rules/problem.ts";
import { checkRequest, runVectors } from "../../rules/published-rules.ts";
import { sizeInWords } from "../terminal.ts";
import { isOk, jsonIn, outcomeOf, problemIn } from "./answers.ts";
import { type Check, check, type Finding, found, group, ok, skipped } from "./check.ts";
import { type Examination, known } from "./examination.ts";
import { failure, OTHER_RELEASE, SAME_RELEASE, SAME_VERSION, warning } from "./faults.ts";
import type { Server } from "./server.ts";

/** Vectors that are sent as requests. */
const MAX_SENT_VECTORS = 6;
const MAX_VECTOR_BYTES = 10_000;

const ERROR_CODES = v.object({
  codes: v.array(v.object({ code: v.string(), status: v.number(), origin: v.string() })),
});
const INTERFACE = v.object({ info: v.object({ version: v.string() }) });

const VERSION_FAULTS = {
  older: warning`The deployment is older than this program, and has other rules. → ${SAME_VERSION}`,
  newer: warning`The deployment is newer than this program, and has other rules.
    → Update this program, and the clients that check requests by the old rules.`,
};

export const RULES = group("Limits and rules", [
  check("limits", {
    title: "the limits are published",
    looksAt: "Each limit of `/v1/constraints` is there and within the range of its setting",
    needs: ["token"],
    faults: {
      missing: warning`The deployment is of an older version, which does not have this limit. → ${SAME_VERSION}`,
      "out-of-range": failure`A limit has a value that no setting allows: something changes the document on its way.
        → Find out what changes the response, and which version is deployed.`,
    },
    run(_edge, { constraints }) {
      const limits: Readonly<Record<string, number>> = { ...known(constraints).limits };
      const missing = Object.keys(LIMIT_SETTINGS).filter((name) => limits[name] === undefined);
      const wrong = Object.entries(LIMIT_SETTINGS).flatMap(([name, { min, max }]) => {
        const value = limits[name] ?? min;
        return value < min || value > max ? [name] : [];
      });
      const { max_inline_files: files = 0, effective_max_files, max_request_body_bytes, max_output_bytes } = limits;
      if (!missing.includes("max_inline_files") && effective_max_files !== Math.min(MAX_KEYS, files)) {
        wrong.push("effective_max_files");
      }
      if (wrong.length > 0) return found("out-of-range", wrong.map((name) => `${name} = ${limits[name]}`).join(", "));
      if (missing.length > 0) return found("missing", missing.join(", "));
      const [request, output] = [max_request_body_bytes, max_output_bytes].map((bytes = 0) => sizeInWords(bytes));
      return ok(`requests up to ${request}, ${effective_max_files} files, outputs up to ${output}`, limits);
    },
  }),
  check("rules-version", {
    title: "rules_version",
    looksAt: "The version of the rules for the keys of `files`, against that of this program",
    needs: ["token"],
    faults: VERSION_FAULTS,
    run: (_edge, { constraints }) => compareVersions(known(constraints).rules_version, RULES_VERSION),
  }),
  check("output-rules-version", {
    title: "output_rules_version",
    looksAt: "The version of the rules for `output`, against that of this program",
    needs: ["token"],
    faults: VERSION_FAULTS,
    run: (_edge, { constraints }) =>
      compareVersions(known(constraints).output_rules.output_rules_version, OUTPUT_RULES_VERSION),
  }),
  check("vectors", {
    title: "the conformance vectors",
    looksAt: "All published conformance vectors by the rules of this program, as the command `vectors` does",
    needs: ["token"],
    faults: {
      disagree: failure`This program and the deployment validate by different rules, so clients get wrong verdicts.
        → Bring both to one version; the command \`vectors\` shows each difference.`,
    },
    run(_edge, examination) {
      const constraints = known(examination.constraints);
      const vectors = constraints.conformance_vectors.length + constraints.output_rules.conformance_vectors.length;
      const disagreements = runVectors(constraints).length;
      return disagreements > 0
        ? found("disagree", `${disagreements} of ${vectors} disagree`)
        : ok(`all ${vectors} agree`, { vectors });
    },
  }),
  check("vectors-enforced", {
    title: "the edge keeps its own rules",
    looksAt: `${MAX_SENT_VECTORS} of the rejected vectors as real requests: the same status, code and rule`,
    needs: ["vectors"],
    faults: {
      otherwise: failure`The edge does not do what it publishes: a proxy changes requests, or versions are mixed.
        → Check whether a deployment is half done, and what is in front of the edge.`,
    },
    run: rejectsAsPublished,
  }),
  documentCheck("files-key-rules", "what `/v1/constraints` says, without limits and output rules", (published) => {
    const { limits, output_rules, ...rest } = published;
    return rest;
  }),
  documentCheck("output-rules", "`output_rules` of `/v1/constraints`", ({ output_rules }) => output_rules),
  check("error-codes", {
    title: "error-codes.json",
    looksAt: "The static document has every error code with its status and origin",
    needs: ["health"],
    faults: {
      incomplete: failure`The static files are of another version, or a cache still has the old one.
        → Deploy the edge again, and purge what caches this path.`,
    },
    async run(edge) {
      const exchange = await edge.get("error-codes.json");
      const document = jsonIn(exchange, ERROR_CODES);
      if (document === null) return exchange;
      const published = new Set(document.codes.map(({ code, status, origin }) => `${code} ${status} ${origin}`));
      const absent = Object.entries(PROBLEMS)
        .filter(([code, { status, origin }]) => !published.has(`${code} ${status} ${origin}`))
        .map(([code]) => code);
      return absent.length > 0 ? found("incomplete", `without ${absent.join(", ")}`) : ok(`${published.size} codes`);
    },
  }),
  check("openapi", {
    title: "openapi.json",
    looksAt: "The interface description is served",
    needs: ["health"],
    async run(edge) {
      const exchange = await edge.get("openapi.json");
      const document = jsonIn(exchange, INTERFACE);
      return document === null ? exchange : ok(`version ${document.info.version}`);
    },
  }),
  check("capabilities", {
    title: "capabilities.json",
    looksAt: "`/capabilities.json` says what is installed, and one version of Typst, the one that this program knows",
    needs: ["health"],
    faults: {
      "no-origin": failure`
        No origin has recently told the edge what it has: none is configured, or none can be reached.
        → See origins-up, and SERVICE_BACKEND_URLS of the edge.`,
      "several-typst": warning`
        Backends of different releases run side by side: the same request gives different documents.
        → ${SAME_RELEASE}`,
      "other-typst": OTHER_RELEASE,
    },
    outcomes: { service_unavailable: "no-origin" },
    async run(edge, examination) {
      const exchange = await edge.get(CAPABILITIES_PATH.slice(1));
      if (outcomeOf(exchange) === "not_found") return skipped("a version without capabilities");
      const capabilities = jsonIn(exchange, CAPABILITIES_SCHEMA);
      if (capabilities === null) return exchange;
      examination.capabilities = capabilities;
      const { typst_versions: versions, fonts, packages } = capabilities;
      const seen = `Typst ${versions.join(" and ")}, ${fonts.length} font families, ${packages.length} packages`;
      const fault = versions.length > 1 ? "several-typst" : versions[0] === TYPST_VERSION ? null : "other-typst";
      return found(fault, seen, { fontFamilies: fonts.length, packages: packages.length });
    },
  }),
]);

function compareVersions(published: number, own: number): Finding<keyof typeof VERSION_FAULTS> {
  if (published === own) return ok(String(published));
  return found(published < own ? "older" : "newer", `${published}; this program has ${own}`);
}

/** A static document that is a part of what `/v1/constraints` says. */
function documentCheck(
  id: string,
  what: string,
  partOf: (document: Readonly<Record<string, unknown>>) => unknown,
): Check {
  return check(id, {
    title: `${id}.json`,
    looksAt: `The static document is ${what}`,
    needs: ["token"],
    faults: {
      differs: failure`The static files and the Worker are of different versions, or a cache still has the old file.
        → Deploy both together, as wrangler deploy and the image do, and purge what caches this path.`,
    },
    async run(edge, { document: published }) {
      const exchange = await edge.get(`${id}.json`);
      const document = jsonIn(exchange, v.unknown());
      if (document === null) return exchange;
      const isSame = isDeepStrictEqual(document, partOf(known(published)));
      return isSame ? ok("as published") : found("differs", "not what /v1/constraints says");
    },
  });
}

/** Sends requests that must be rejected, until one is answered otherwise. For the edge and for origins. */
export async function rejectsAsPublished(server: Server, { constraints }: Examination): Promise<Finding<"otherwise">> {
  const requests = rejectedRequests(known(constraints));
  if (requests.length === 0) return skipped("no vectors that could be sent");
  for (const { body, code, rule } of requests) {
    const exchange = await server.render(body);
    const problem = problemIn(exchange);
    if (problem === null && !isOk(exchange)) return exchange;
    const context: object = problem?.context ?? {};
    if (problem?.code !== code || ("rule" in context ? context.rule : null) !== rule) {
      const wanted = rule === null ? code : `${code} (${rule})`;
      return found("otherwise", `${wanted} expected, ${problem?.code ?? "200"} answered`);
    }
  }
  return ok(`${requests.length} of ${requests.length} as published`);
}

/** A sample of the published rejections as requests, evenly over the list. They are rejected before they cost a slot. */
function rejectedRequests(constraints: PublishedConstraints) {
  const { conformance_vectors: keyVectors, output_rules } = constraints;
  const requests = [
    ...keyVectors.map(({ keys, ...verdict }) => ({
      ...verdict,
      body: { source: "x", files: Object.fromEntries(keys.map((key) => [key, { encoding: "text", content: "" }])) },
    })),
    ...output_rules.conformance_vectors.map(({ output, ...verdict }) => ({
      ...verdict,
      body: { source: "x", output },
    })),
  ].flatMap(({ body, code, rule = null }) => {
    // The limits of the deployment come before some rules: only vectors that they leave alone.
    const check = checkRequest(body, constraints);
    const isSame = check.verdict === "refused" && check.problem.code === code;
    return isSame && JSON.stringify(body).length < MAX_VECTOR_BYTES ? [{ body, code, rule }] : [];
  });
  const step = Math.ceil(requests.length / MAX_SENT_VECTORS);
  return requests.filter((_, index) => index % step === 0);
}
