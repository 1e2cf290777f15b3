/** The fields of the output options: reads them as the members of `output`, and fills them. */
import {
  isOutputFormat,
  OUTPUT_SCHEMAS,
  type OutputField,
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
/** The options that are texts, each in a text field. */
const TEXT_FIELDS = ["filename", "pages", "page", "ppi"] as const;
/** The options besides the format, in the order in which they are sent. */
const FIELDS = ["filename", "version", "standards", "pages", "page", "archive", "ppi"] as const;

type TextField = (typeof TEXT_FIELDS)[number];

export class OutputForm {
  readonly element = byId("output-form", HTMLFormElement);
  readonly #version = byId("output-version", HTMLSelectElement);
  readonly #profile = byId("output-profile", HTMLSelectElement);
  readonly #accessible = byId("output-ua", HTMLInputElement);
  readonly #archive = byId("output-archive", HTMLInputElement);
  readonly #texts: Readonly<Record<TextField, HTMLInputElement>> = {
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
    const members: Partial<Record<OutputField, string>> = {};
    for (const name of FIELDS) {
      const value = Object.hasOwn(OUTPUT_SCHEMAS[format].entries, name) ? this.#jsonOf(name) : null;
      if (value !== null) members[name] = value;
    }
    return { format, members };
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

  #jsonOf(field: (typeof FIELDS)[number]): string | null {
    switch (field) {
      case "version":
        return this.#version.value === "" ? null : JSON.stringify(this.#version.value);
      case "standards": {
        const profile = this.#profile.value;
        const standards = [...(profile === "" ? [] : [profile]), ...(this.#accessible.checked ? ["ua-1"] : [])];
        return standards.length === 0 ? null : JSON.stringify(standards);
      }
      case "archive":
        return this.#archive.checked ? '"zip"' : null;
      case "filename":
      case "pages":
      case "page":
      case "ppi": {
        const text = this.#texts[field].value.trim();
        if (text === "") return null;
        const isNumber = (field === "page" || field === "ppi") && JSON_NUMBER.test(text);
        return isNumber ? text : JSON.stringify(text);
      }
    }
  }
}
