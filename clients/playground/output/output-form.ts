/** The fields of the output options: reads them as the members of `output`, and fills them. */
import {
  isOutputFormat,
  OUTPUT_SCHEMAS,
  type OutputFormat,
  PDF_STANDARDS,
  PDF_VERSIONS,
} from "../../../rules/output-options.ts";
import { PDF_A_VERSION } from "../../../rules/output-rules.ts";
import { type DraftOutput, outputJson } from "../drafts/draft.ts";
import { byId, make } from "../page/elements.ts";
import { standardInWords } from "./output-words.ts";

/** A JSON number as people type it. Anything else is sent as a string, which the rules reject. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const TEXT_FIELDS = ["filename", "pages", "page", "ppi"] as const;

export class OutputForm {
  readonly element = byId("output-form", HTMLFormElement);
  readonly #version = byId("output-version", HTMLSelectElement);
  readonly #profile = byId("output-profile", HTMLSelectElement);
  readonly #accessible = byId("output-ua", HTMLInputElement);
  readonly #archive = byId("output-archive", HTMLInputElement);
  readonly #texts: Readonly<Record<(typeof TEXT_FIELDS)[number], HTMLInputElement>> = {
    filename: byId("output-filename", HTMLInputElement),
    pages: byId("output-pages", HTMLInputElement),
    page: byId("output-page", HTMLInputElement),
    ppi: byId("output-ppi", HTMLInputElement),
  };
  readonly #formats = [...this.element.querySelectorAll<HTMLInputElement>('input[name="format"]')];

  constructor() {
    this.#version.append(...PDF_VERSIONS.map((each) => make("option", { value: each }, `PDF ${each}`)));
    const profiles = PDF_STANDARDS.filter((each) => Object.hasOwn(PDF_A_VERSION, each));
    this.#profile.append(...profiles.map((each) => make("option", { value: each }, standardInWords(each))));
  }

  get format(): OutputFormat {
    const value = this.#formats.find(({ checked }) => checked)?.value;
    return isOutputFormat(value) ? value : "pdf";
  }

  /** Only what the chosen format has. */
  read(): DraftOutput {
    const { format } = this;
    const { filename, pages, page, ppi } = this.#texts;
    const standards = [this.#profile.value, this.#accessible.checked ? "ua-1" : ""].filter((each) => each !== "");
    const members = {
      filename: jsonOfText(filename),
      version: jsonOfText(this.#version),
      standards: standards.length === 0 ? null : JSON.stringify(standards),
      pages: jsonOfText(pages),
      page: jsonOfNumber(page),
      archive: this.#archive.checked ? '"zip"' : null,
      ppi: jsonOfNumber(ppi),
    };
    const ofFormat = Object.entries(members).flatMap(([name, json]) =>
      json !== null && Object.hasOwn(OUTPUT_SCHEMAS[format].entries, name) ? [[name, json] as const] : [],
    );
    return { format, members: Object.fromEntries(ofFormat) };
  }

  fill(options: DraftOutput): void {
    const members: { readonly [name: string]: unknown } = JSON.parse(outputJson(options));
    const standards: readonly unknown[] = Array.isArray(members.standards) ? members.standards : [];
    for (const radio of this.#formats) radio.checked = radio.value === options.format;
    this.#version.value = String(members.version ?? "");
    this.#profile.value = String(standards.find((each) => each !== "ua-1") ?? "");
    this.#accessible.checked = standards.includes("ua-1");
    this.#archive.checked = members.archive === "zip";
    for (const name of TEXT_FIELDS) this.#texts[name].value = String(members[name] ?? "");
  }
}

function jsonOfText({ value }: HTMLInputElement | HTMLSelectElement): string | null {
  return value.trim() === "" ? null : JSON.stringify(value.trim());
}

function jsonOfNumber(field: HTMLInputElement): string | null {
  const text = field.value.trim();
  return JSON_NUMBER.test(text) ? text : jsonOfText(field);
}
