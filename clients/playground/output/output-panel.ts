/** The options of `output`. Only those of the chosen format are shown and sent; most of them fold away. */
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
import type { DraftStore } from "../drafts/draft-store.ts";
import { readStored, writeStored } from "../page/browser-storage.ts";
import { byId, make } from "../page/elements.ts";

const FOLDED_KEY = "output-options";
/** On a lower screen they are folded until somebody wants them: the editor needs the height. */
const ROOMY_SCREEN = "(min-width: 60rem) and (min-height: 50rem)";
/** A JSON number as people type it. Anything else is sent as a string, which the rules reject. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const TEXT_FIELDS = ["filename", "pages", "page", "ppi"] as const;

export class OutputPanel {
  readonly #form = byId("output-form", HTMLFormElement);
  readonly #version = byId("output-version", HTMLSelectElement);
  readonly #profile = byId("output-profile", HTMLSelectElement);
  readonly #accessible = byId("output-ua", HTMLInputElement);
  readonly #archive = byId("output-archive", HTMLInputElement);
  readonly #formats = [...this.#form.querySelectorAll<HTMLInputElement>('input[name="format"]')];

  constructor(store: DraftStore) {
    this.#version.append(...PDF_VERSIONS.map((each) => make("option", { value: each }, `PDF ${each}`)));
    const profiles = PDF_STANDARDS.filter((each) => Object.hasOwn(PDF_A_VERSION, each));
    this.#profile.append(...profiles.map((each) => make("option", { value: each }, standardInWords(each))));
    const fold = byId("output-options", HTMLDetailsElement);
    fold.open = (readStored("local", FOLDED_KEY) ?? (matchMedia(ROOMY_SCREEN).matches ? "open" : "")) === "open";
    fold.querySelector("summary")?.addEventListener("click", () => {
      // The click has not changed it yet.
      writeStored("local", FOLDED_KEY, fold.open ? "folded" : "open");
    });
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("input", () => {
      this.#showFieldsOfFormat();
      store.edit({ output: this.#read() });
    });
    store.onChange((change) => {
      if (change === "replace") this.#fill(store.draft.output);
    });
    this.#fill(store.draft.output);
  }

  mark(messages: ReadonlyMap<OutputField, string>): void {
    for (const element of this.#fields()) {
      const text = [...messages].find(([field]) => field === element.dataset.field)?.[1] ?? "";
      const message = element.querySelector(".message");
      if (message !== null) message.textContent = text;
      for (const input of element.querySelectorAll("input, select"))
        input.setAttribute("aria-invalid", String(text !== ""));
      if (text !== "") unfold(element);
    }
  }

  focus(field: OutputField): void {
    const input = this.#form.querySelector<HTMLElement>(`[data-field="${field}"] :is(input, select)`);
    if (input === null) return;
    unfold(input);
    input.focus();
  }

  get #format(): OutputFormat {
    const value = this.#formats.find(({ checked }) => checked)?.value;
    return isOutputFormat(value) ? value : "pdf";
  }

  #read(): DraftOutput {
    const standards = [this.#profile.value, this.#accessible.checked ? "ua-1" : ""].filter((each) => each !== "");
    const members = {
      filename: jsonOf(textField("filename")),
      version: jsonOf(this.#version),
      standards: standards.length === 0 ? null : JSON.stringify(standards),
      pages: jsonOf(textField("pages")),
      page: jsonOf(textField("page"), JSON_NUMBER),
      archive: this.#archive.checked ? '"zip"' : null,
      ppi: jsonOf(textField("ppi"), JSON_NUMBER),
    };
    const format = this.#format;
    const ofFormat = Object.entries(members).flatMap(([name, json]) =>
      json !== null && Object.hasOwn(OUTPUT_SCHEMAS[format].entries, name) ? [[name, json] as const] : [],
    );
    return { format, members: Object.fromEntries(ofFormat) };
  }

  #fill(options: DraftOutput): void {
    const members: { readonly [name: string]: unknown } = JSON.parse(outputJson(options));
    const standards: readonly unknown[] = Array.isArray(members.standards) ? members.standards : [];
    for (const radio of this.#formats) radio.checked = radio.value === options.format;
    this.#version.value = String(members.version ?? "");
    this.#profile.value = String(standards.find((each) => each !== "ua-1") ?? "");
    this.#accessible.checked = standards.includes("ua-1");
    this.#archive.checked = members.archive === "zip";
    for (const name of TEXT_FIELDS) textField(name).value = String(members[name] ?? "");
    this.#showFieldsOfFormat();
  }

  #showFieldsOfFormat(): void {
    const names = Object.keys(OUTPUT_SCHEMAS[this.#format].entries);
    for (const element of this.#fields()) element.hidden = !names.includes(element.dataset.field ?? "");
    byId("output-chosen", HTMLElement).textContent = describeOptions(this.#read()).join(" · ");
  }

  #fields(): NodeListOf<HTMLElement> {
    return this.#form.querySelectorAll<HTMLElement>("[data-field]");
  }
}

function textField(name: (typeof TEXT_FIELDS)[number]): HTMLInputElement {
  return byId(`output-${name}`, HTMLInputElement);
}

/** The value as JSON; null if the field is empty. @param bare what is written without quotes */
function jsonOf({ value }: HTMLInputElement | HTMLSelectElement, bare?: RegExp): string | null {
  const text = value.trim();
  if (text === "") return null;
  return bare?.test(text) ? text : JSON.stringify(text);
}

function unfold(element: HTMLElement): void {
  for (let fold = element.closest("details"); fold !== null; fold = fold.parentElement?.closest("details") ?? null) {
    fold.open = true;
  }
}

export function describeKind({ members }: DraftOutput): string[] {
  const { standards = "[]", version, ppi } = members;
  const names = [JSON.parse(standards)].flat().map((each) => standardInWords(String(each)));
  return [...names, ...describeMember(version, "PDF "), ...describeMember(ppi, "", " ppi")];
}

function describeOptions(output: DraftOutput): string[] {
  const { filename, pages, page } = output.members;
  const selected = [...describeMember(pages, "pages "), ...describeMember(page, "page ")];
  return [...describeMember(filename), ...describeKind(output), ...selected];
}

function describeMember(json: string | undefined, before = "", after = ""): string[] {
  return json === undefined ? [] : [`${before}${JSON.parse(json)}${after}`];
}

function standardInWords(standard: string): string {
  return standard.startsWith("ua-") ? `PDF/UA-${standard.slice(3)}` : `PDF/A-${standard.slice(2)}`;
}
