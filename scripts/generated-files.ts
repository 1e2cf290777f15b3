/**
 * Every checked-in file that is made from the definitions in `rules/` and the settings tables, with its content.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { BACKEND_INTEGER_SETTINGS } from "../backend/settings.ts";
import { EDGE_INTEGER_SETTINGS } from "../edge/integer-settings.ts";
import { OPENAPI_DOCUMENT_NAME, STATIC_DOCUMENTS } from "../rules/constraints.ts";
import { LIMIT_SETTINGS } from "../rules/limits.ts";
import { PROBLEMS } from "../rules/problem.ts";
import type { IntegerSetting } from "../rules/settings.ts";
import { openApiDocument } from "./openapi/document.ts";
import { START_INTEGER_SETTINGS } from "./start-settings.ts";

export interface GeneratedFile {
  /** Absolute path. */
  readonly path: string;
  readonly content: string;
}

/** All generated files; pages with generated tables keep the prose around them. */
export async function generatedFiles(): Promise<GeneratedFile[]> {
  const served = { ...STATIC_DOCUMENTS, [OPENAPI_DOCUMENT_NAME]: await openApiDocument() };
  const documents = Object.entries(served).map(([name, document]) => ({
    path: rootPath(`static/${name}`),
    content: `${JSON.stringify(document, null, 2)}\n`,
  }));
  return [
    ...documents,
    await withTables("README.md"),
    await withTables("docs/errors.md"),
    await withTables("docs/operations.md"),
  ];
}

function rootPath(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

/** The tables by the name that a page gives between `<!-- table: name -->` and `<!-- end of table -->`. */
const TABLES: Readonly<Record<string, () => string>> = {
  limits: () =>
    table(
      ["Limit", "Applies to", "Unit", "Default", "Setting", "Over it"],
      Object.entries(LIMIT_SETTINGS).map(([name, limit]) => [
        code(name),
        limit.appliesTo,
        limit.unit,
        String(limit.default),
        code(limit.setting),
        code(limit.code),
      ]),
    ),
  settings: () =>
    table(
      ["Setting", "Read by", "Default", "Range", "Meaning"],
      [
        ...integerRows(code("npm start"), START_INTEGER_SETTINGS),
        ...integerRows("edge", EDGE_INTEGER_SETTINGS),
        ...integerRows("backend", BACKEND_INTEGER_SETTINGS),
      ],
    ),
  times: () =>
    table(
      ["What takes time", "Default", "Setting"],
      TIMES.map(([what, { setting, default: seconds }]) => [what, `${seconds} s`, code(setting)]),
    ),
  errors: () =>
    table(
      ["Status", "Code", "Origin", "Context", "Cause"],
      Object.entries(PROBLEMS).map(([name, { status, origin, context, cause }]) => [
        String(status),
        code(name),
        origin,
        context.map(code).join(", ") || "-",
        cause,
      ]),
    ),
};

/** How long each layer waits, in the order in which a request meets them. */
const TIMES: readonly (readonly [what: string, setting: IntegerSetting])[] = [
  ["a body arrives at the edge, with no pause of 10 s", EDGE_INTEGER_SETTINGS.bodyTimeoutSeconds],
  ["a request waits for a slot", BACKEND_INTEGER_SETTINGS.queueDeadlineSeconds],
  ["a render runs", BACKEND_INTEGER_SETTINGS.renderTimeoutSeconds],
  ["of which it computes", BACKEND_INTEGER_SETTINGS.renderCpuSeconds],
  ["the edge waits for a backend's answer to begin", EDGE_INTEGER_SETTINGS.backendTimeoutSeconds],
  ["a client reads nothing of its output", BACKEND_INTEGER_SETTINGS.deliverySilenceSeconds],
  ["a client reads its output", BACKEND_INTEGER_SETTINGS.deliveryTimeoutSeconds],
  ["a stopping backend lets renders and deliveries finish", BACKEND_INTEGER_SETTINGS.graceSeconds],
];

interface DescribedSetting extends IntegerSetting {
  readonly meaning: string;
  /** What the default is where it depends on the machine. */
  readonly defaultText?: string;
}

function integerRows(reader: string, settings: Readonly<Record<string, DescribedSetting>>): string[][] {
  return Object.values(settings).map((definition) => [
    code(definition.setting),
    reader,
    definition.defaultText ?? String(definition.default),
    `${definition.min} to ${definition.max}`,
    definition.meaning,
  ]);
}

async function withTables(page: string): Promise<GeneratedFile> {
  const path = rootPath(page);
  const text = await readFile(path, "utf8");
  const content = text.replace(
    /(<!-- table: (\w+) -->\n)[\s\S]*?(<!-- end of table -->)/g,
    (_whole, start: string, name: string, end: string) => {
      const build = TABLES[name];
      if (build === undefined) throw new Error(`${page} asks for an unknown table: ${name}`);
      return `${start}\n${build()}\n${end}`;
    },
  );
  return { path, content };
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}

function code(text: string): string {
  return `\`${text}\``;
}
