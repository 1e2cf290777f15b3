/** The checked-in files that are generated from the definitions in `rules/` and the tables of settings. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Command } from "@commander-js/extra-typings";
import { BACKEND_INTEGER_SETTINGS } from "../../backend/settings.ts";
import { ANSWER_FAULTS } from "../../clients/command-line/doctor/answers.ts";
import type { DoctorCheck } from "../../clients/command-line/doctor/check.ts";
import { CHECK_GROUPS } from "../../clients/command-line/doctor/runner.ts";
import { programWithAllCommands } from "../../clients/command-line/program.ts";
import { ANALYTICS_BLOBS, ANALYTICS_DOUBLES } from "../../edge/platform/cloudflare/analytics.ts";
import { NODE_EDGE_INTEGER_SETTINGS } from "../../edge/platform/node/settings.ts";
import { EDGE_INTEGER_SETTINGS } from "../../edge/settings.ts";
import project from "../../package.json" with { type: "json" };
import { NEXT_STEPS } from "../../rules/causes.ts";
import { OPENAPI_DOCUMENT_NAME, STATIC_DOCUMENTS } from "../../rules/constraints.ts";
import { KEY_RULES, RULES_VERSION, SET_RULES } from "../../rules/files-rules.ts";
import { LIMIT_SETTINGS } from "../../rules/limits.ts";
import { PDF_STANDARDS } from "../../rules/output-options.ts";
import { OUTPUT_RULES, OUTPUT_RULES_VERSION, PDF_A_VERSION, TAGGED_STANDARDS } from "../../rules/output-rules.ts";
import { PAGE_SELECTION } from "../../rules/page-selection.ts";
import { PROBLEM_ORIGINS, PROBLEMS } from "../../rules/problem.ts";
import { BACKEND_TIMEOUT_SETTING, RENDER_TIME_SETTINGS } from "../../rules/render-time.ts";
import type { IntegerSetting } from "../../rules/settings.ts";
import { ERROR_TYPES } from "../../rules/validation-errors.ts";
import { backendMebibytes } from "./backend-memory.ts";
import { findCell, formatTable } from "./markdown-table.ts";
import { openApiDocument } from "./openapi/document.ts";

/** All generated files, by absolute paths. In a page, only its generated tables differ from the file on disk. */
export async function generateFiles(): Promise<{ readonly path: string; readonly content: string }[]> {
  const served = { ...STATIC_DOCUMENTS, [OPENAPI_DOCUMENT_NAME]: await openApiDocument() };
  const documents = Object.entries(served).map(([name, document]) => ({
    path: rootPath(`edge/static/${name}`),
    content: `${JSON.stringify(document, null, 2)}\n`,
  }));
  return [
    ...documents,
    ...(await Promise.all(GENERATED_PAGES.map((page) => changeFile(page, replaceGeneratedParts)))),
    ...(await Promise.all(PLACES_OF_VERSION.map((name) => changeFile(name, replaceVersion)))),
  ];
}

const GENERATED_PAGES = [
  "README.md",
  "docs/settings.md",
  "docs/api.md",
  "docs/operations.md",
  "docs/monitoring.md",
  "docs/doctor.md",
  "docs/command-line.md",
  "docs/deploy/capacity.md",
  "docs/deploy/cloudflare.md",
  "docs/decisions/one-process-per-render.md",
  "docs/decisions/README.md",
];

/** These repeat the version of the service for programs that cannot read package.json. */
const PLACES_OF_VERSION = [
  "clients/python/document_rendering.py",
  "deploy/kubernetes/overlays/landlock/kustomization.yaml",
  "deploy/kubernetes/overlays/bubblewrap/kustomization.yaml",
  "docs/deploy/kubernetes.md",
  "docs/recipes.md",
  ".env.example",
  "protocol/version.ts",
];

async function changeFile(name: string, change: (text: string, name: string) => string) {
  const path = rootPath(name);
  return { path, content: change(await readFile(path, "utf8"), name) };
}

function replaceVersion(text: string): string {
  const places =
    /(newTag: "|document-rendering-(?:(?:edge|backend):)?|^IMAGE_TAG=|^__version__ = "|^export const SERVICE_VERSION = "|document_rendering-)\d+\.\d+\.\d+/gm;
  return text.replace(places, `$1${project.version}`);
}

function rootPath(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

/** How long each layer waits, in the order in which a request passes through them. */
const TIMES: readonly (readonly [what: string, setting: IntegerSetting])[] = [
  ["a body arrives at the edge, with no pause of 10 s", EDGE_INTEGER_SETTINGS.bodyTimeoutSeconds],
  ["a request waits for a slot", BACKEND_INTEGER_SETTINGS.queueDeadlineSeconds],
  ["a render runs", BACKEND_INTEGER_SETTINGS.renderTimeoutSeconds],
  ["the processor time of each of its threads", BACKEND_INTEGER_SETTINGS.renderCpuSeconds],
  ["the edge waits for a backend's answer to begin", EDGE_INTEGER_SETTINGS.backendTimeoutSeconds],
  ["a client reads none of its output", BACKEND_INTEGER_SETTINGS.deliverySilenceSeconds],
  ["a client reads its output", BACKEND_INTEGER_SETTINGS.deliveryTimeoutSeconds],
  ["a stopping backend lets renders and deliveries finish", BACKEND_INTEGER_SETTINGS.graceSeconds],
];

/** Edge and backend both read them, and refuse to start if they contradict each other. */
const TIMES_OF_BOTH: readonly IntegerSetting[] = [...Object.values(RENDER_TIME_SETTINGS), BACKEND_TIMEOUT_SETTING];

type Table = readonly [head: readonly string[], rows: readonly (readonly string[])[]];

/** The tables by name. A page has each between `<!-- table: name -->` and `<!-- end of table -->`. */
const TABLES: Readonly<Record<string, Table>> = {
  limits: [
    ["Limit", "Applies to", "Unit", "Default", "Setting", "Over it"],
    Object.entries(LIMIT_SETTINGS).map(([name, limit]) => [
      code(name),
      limit.appliesTo,
      limit.unit,
      String(limit.default),
      code(limit.setting),
      code(limit.code),
    ]),
  ],
  settings: [
    ["Setting", "Read by", "Default", "Range", "Meaning"],
    [
      ...integerRows(`${code("npm start")}, edge alone`, NODE_EDGE_INTEGER_SETTINGS),
      ...integerRows("edge", EDGE_INTEGER_SETTINGS),
      ...integerRows("backend", BACKEND_INTEGER_SETTINGS),
    ],
  ],
  times: [
    ["What takes time", "Default", "Setting"],
    TIMES.map(([what, { setting, default: seconds }]) => [what, `${seconds} s`, code(setting)]),
  ],
  memory: [
    ["Slots of a host", "Each of its two backends, MiB", "With two edges of 768 MiB, GiB"],
    [2, 4, 8, 16].map((slots) => {
      const mebibytes = backendMebibytes(slots / 2);
      return [slots, mebibytes, ((2 * mebibytes + 2 * 768) / 1024).toFixed(1)].map(String);
    }),
  ],
  analytics: [
    ["Column", "Field"],
    [...analyticsRows("blob", ANALYTICS_BLOBS), ...analyticsRows("double", ANALYTICS_DOUBLES)],
  ],
  errors: [
    ["Status", "Code", "Origin", "Context", "Cause"],
    Object.entries(PROBLEMS).map(([name, { status, origin, context, meaning }]) => [
      String(status),
      code(name),
      origin,
      context.map(code).join(", ") || "-",
      meaning,
    ]),
  ],
  origins: [["Origin", "What it means for the caller"], codedRows(PROBLEM_ORIGINS)],
  "doctor-checks": [
    ["", "Check", "What is asked", "Faults of its own"],
    CHECK_GROUPS.flatMap(({ name, checks }) =>
      checks.map((check, index) => [index === 0 ? name : "", code(check.id), check.title, faultsOf(check, checks)]),
    ),
  ],
  "doctor-answer-faults": [
    ["Severity", "Faults of every check that sends a request"],
    (["failure", "warning"] as const).map((severity) => [
      severity,
      namesOf(Object.entries(ANSWER_FAULTS).filter(([, fault]) => fault.severity === severity)),
    ]),
  ],
  options: [["Option", "Of", "Meaning"], optionRows(await programWithAllCommands())],
  "error-types": [["Type", "Meaning"], codedRows(ERROR_TYPES)],
  "key-rules": membersTable(KEY_RULES),
  "set-rules": [
    ["Rule", "Code", "What to do"],
    SET_RULES.map(({ id, error_code, description }) => [code(id), code(error_code), description]),
  ],
  "output-rules": [
    ["Rule", "Field", "What to do"],
    OUTPUT_RULES.map(({ id, field, description }) => [code(id), code(field), description]),
  ],
  "page-selection": membersTable(PAGE_SELECTION),
  standards: [["PDF version", "Not tagged", "Tagged"], standardRows()],
  versions: [
    ["Counter", "Now", "Rises with a change of"],
    [
      [code("rules_version"), String(RULES_VERSION), "a rule for the keys of `files`"],
      [code("output_rules_version"), String(OUTPUT_RULES_VERSION), "a rule for `output`, of one field or several"],
    ],
  ],
};

/** The standards by the PDF version that they set. */
function standardRows(): string[][] {
  const versions = new Map<string, string>(Object.entries(PDF_A_VERSION));
  const byVersion = Map.groupBy(PDF_STANDARDS, (standard) => versions.get(standard) ?? "any but 2.0");
  const isTagged = (standard: string) => TAGGED_STANDARDS.some((tagged) => tagged === standard);
  return [...byVersion].map(([version, standards]) => [
    version,
    ...[false, true].map((tagged) =>
      standards
        .filter((standard) => isTagged(standard) === tagged)
        .map(code)
        .join(", "),
    ),
  ]);
}

function codedRows(meanings: Readonly<Record<string, string>>): string[][] {
  return Object.entries(meanings).map(([name, meaning]) => [code(name), meaning]);
}

/** Each option once for all commands that mean the same by it. */
function optionRows({ commands }: Command): string[][] {
  const all = commands.flatMap((command) => {
    const shown = command.options.filter(({ hidden }) => !hidden);
    return shown.map(({ flags, description, argChoices: choices }) => {
      const meaning = choices === undefined ? description : `${description}: ${choices.join(", ")}`;
      return { command: command.name(), flags: code(flags), meaning };
    });
  });
  const rows = Object.values(Object.groupBy(all, ({ flags, meaning }) => `${flags}: ${meaning}`));
  return rows.map(([first, ...others] = []) => [
    first?.flags ?? "",
    [first, ...others].map((option) => option?.command).join(", "),
    first?.meaning ?? "",
  ]);
}

/** The names of a check's faults, warnings with a mark; or the check of its group that has the same. */
function faultsOf({ id, faults = {} }: DoctorCheck, group: readonly DoctorCheck[]): string {
  const names = namesOf(Object.entries(faults));
  const first = group.find((other) => namesOf(Object.entries(other.faults ?? {})) === names);
  return first === undefined || first.id === id || names === "" ? names : `as ${code(first.id)}`;
}

function namesOf(faults: readonly (readonly [name: string, { readonly severity: string }])[]): string {
  return faults.map(([name, { severity }]) => (severity === "warning" ? `${code(name)} !` : code(name))).join(", ");
}

function analyticsRows(kind: string, fields: readonly (readonly [string, unknown])[]): string[][] {
  return fields.map(([name], index) => [code(`${kind}${index + 1}`), code(name)]);
}

function membersTable(members: Readonly<Record<string, string | number | boolean>>): Table {
  return [["Member", "Value"], Object.entries(members).map(([name, value]) => [code(name), code(String(value))])];
}

/** `defaultText` says in words what depends on the machine. */
type DescribedSetting = IntegerSetting & { readonly meaning: string; readonly defaultText?: string };

function integerRows(reader: string, settings: Readonly<Record<string, DescribedSetting>>): string[][] {
  return Object.values(settings).map((definition) => [
    code(definition.setting),
    TIMES_OF_BOTH.includes(definition) ? "edge, backend" : reader,
    definition.defaultText ?? String(definition.default),
    `${definition.min} to ${definition.max}`,
    definition.meaning,
  ]);
}

/** Fills in the tables of a page, the figures that it quotes from the pages in `bench/`, and the next steps of log lines. */
function replaceGeneratedParts(text: string, page: string): string {
  const marks = /(<!-- ?(table|figure|next): ?(.+?) ?-->\n?)[\s\S]*?(<!-- ?end(?: of table)? ?-->)/g;
  return text.replace(marks, (_match, start: string, kind: string, names: string, end: string) => {
    const content = generatedPart(kind, names.split(": "));
    if (content === undefined || content === null) throw new Error(`${page} quotes what there is not: ${start.trim()}`);
    return `${start}${content}${end}`;
  });
}

function generatedPart(kind: string, [name = "", row = "", column = ""]: string[]): string | null | undefined {
  if (kind === "table") return TABLES[name] && `\n${formatTable(...TABLES[name])}\n`;
  if (kind === "figure") return findCell(readFileSync(rootPath(`bench/${name}.md`), "utf8"), row, column);
  const nextStep = new Map<string, string>(Object.entries(NEXT_STEPS)).get(name);
  return nextStep?.replaceAll(/\b(?:SERVICE|service)_\w+/g, code);
}

function code(text: string): string {
  return `\`${text}\``;
}
