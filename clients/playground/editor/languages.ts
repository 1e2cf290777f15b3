/** The languages of the editors, by the extension of the file. */
import { json } from "@codemirror/lang-json";
import { StreamLanguage } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { xml } from "@codemirror/legacy-modes/mode/xml";
import { yaml } from "@codemirror/legacy-modes/mode/yaml";
import type { Extension } from "@codemirror/state";
import { typstLanguage } from "./typst-language.ts";

export const jsonLanguage = json();
const xmlLanguage = StreamLanguage.define(xml);
const yamlLanguage = StreamLanguage.define(yaml);

const LANGUAGES: Readonly<Record<string, Extension>> = {
  typ: typstLanguage,
  json: jsonLanguage,
  svg: xmlLanguage,
  xml: xmlLanguage,
  csl: xmlLanguage,
  yaml: yamlLanguage,
  yml: yamlLanguage,
  toml: StreamLanguage.define(toml),
};

export function languageFor(key: string): Extension {
  const extension = key.slice(key.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(LANGUAGES, extension) ? (LANGUAGES[extension] ?? []) : [];
}
