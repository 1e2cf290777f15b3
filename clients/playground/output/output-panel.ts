/** The options of `output`. Only those of the chosen format are shown and sent. */
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
import { byId, make } from "../page/elements.ts";

export interface OutputPanel {
  mark(messages: ReadonlyMap<OutputField, string>): void;
  focus(field: OutputField): void;
}

/** A JSON number as people type it. Anything else is sent as a string, which the rules reject. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

/** Connects the form with the options of the store's draft. */
export function connectOutputPanel(store: DraftStore): OutputPanel {
  const form = byId("output-form", HTMLFormElement);
  const version = byId("output-version", HTMLSelectElement);
  const profile = byId("output-profile", HTMLSelectElement);
  const accessible = byId("output-ua", HTMLInputElement);
  const archive = byId("output-archive", HTMLInputElement);
  const texts = {
    filename: byId("output-filename", HTMLInputElement),
    pages: byId("output-pages", HTMLInputElement),
    page: byId("output-page", HTMLInputElement),
    ppi: byId("output-ppi", HTMLInputElement),
  };
  const radios = [...form.querySelectorAll<HTMLInputElement>('input[name="format"]')];

  version.append(...PDF_VERSIONS.map((each) => make("option", { value: each }, `PDF ${each}`)));
  profile.append(
    ...PDF_STANDARDS.filter((each) => Object.hasOwn(PDF_A_VERSION, each)).map((each) =>
      make("option", { value: each }, `PDF/A-${each.slice(2)}`),
    ),
  );

  const format = (): OutputFormat => {
    const value = radios.find(({ checked }) => checked)?.value;
    return isOutputFormat(value) ? value : "pdf";
  };

  const jsonOf = (field: OutputField): string | null => {
    switch (field) {
      case "format":
        return null;
      case "version":
        return version.value === "" ? null : JSON.stringify(version.value);
      case "standards": {
        const standards = [...(profile.value === "" ? [] : [profile.value]), ...(accessible.checked ? ["ua-1"] : [])];
        return standards.length === 0 ? null : JSON.stringify(standards);
      }
      case "archive":
        return archive.checked ? '"zip"' : null;
      case "filename":
      case "pages":
        return texts[field].value.trim() === "" ? null : JSON.stringify(texts[field].value.trim());
      case "page":
      case "ppi": {
        const text = texts[field].value.trim();
        if (text === "") return null;
        return JSON_NUMBER.test(text) ? text : JSON.stringify(text);
      }
    }
  };

  const show = () => {
    const fields = Object.keys(OUTPUT_SCHEMAS[format()].entries);
    for (const element of form.querySelectorAll<HTMLElement>("[data-field]")) {
      element.hidden = !fields.includes(element.dataset.field ?? "");
    }
  };

  const output = (): DraftOutput => {
    const members: Partial<Record<OutputField, string>> = {};
    for (const name of fieldsOf(format())) {
      const value = jsonOf(name);
      if (value !== null) members[name] = value;
    }
    return { format: format(), members };
  };

  const fill = (options: DraftOutput) => {
    const members: { readonly [name: string]: unknown } = JSON.parse(outputJson(options));
    const standards: readonly unknown[] = Array.isArray(members.standards) ? members.standards : [];
    for (const radio of radios) radio.checked = radio.value === options.format;
    version.value = String(members.version ?? "");
    profile.value = String(standards.find((each) => each !== "ua-1") ?? "");
    accessible.checked = standards.includes("ua-1");
    archive.checked = members.archive === "zip";
    for (const name of ["filename", "pages", "page", "ppi"] as const) texts[name].value = String(members[name] ?? "");
    show();
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    show();
    store.edit({ output: output() });
  });
  store.onChange((change) => {
    if (change === "replace") fill(store.draft.output);
  });
  fill(store.draft.output);

  return {
    mark: (messages) => {
      for (const element of form.querySelectorAll<HTMLElement>("[data-field]")) {
        const name = element.dataset.field ?? "";
        const text = [...messages].find(([field]) => field === name)?.[1] ?? "";
        const message = element.querySelector(".message");
        if (message !== null) message.textContent = text;
        for (const input of element.querySelectorAll("input, select"))
          input.setAttribute("aria-invalid", String(text !== ""));
      }
    },
    focus: (field) => form.querySelector<HTMLElement>(`[data-field="${field}"] :is(input, select)`)?.focus(),
  };
}

function fieldsOf(format: OutputFormat): OutputField[] {
  const { entries } = OUTPUT_SCHEMAS[format];
  return (["filename", "version", "standards", "pages", "page", "archive", "ppi"] as const).filter((name) =>
    Object.hasOwn(entries, name),
  );
}
