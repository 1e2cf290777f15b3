/** Checks the XML of an invoice against the XML schema of its profile, by libxml2. */
import {
  ParseOption,
  XmlBufferInputProvider,
  XmlDocument,
  XmlLibError,
  XsdValidator,
  xmlRegisterInputProvider,
} from "libxml2-wasm";
import { errorAt, type Finding, MAX_FINDINGS } from "./finding.ts";

/** A schema and the files that it imports, by their names. */
export interface SchemaFiles {
  readonly main: string;
  readonly files: Readonly<Record<string, string | undefined>>;
}

/** No host has this name. libxml2 asks this module for each file of a schema, and loads nothing else. */
const BASE = "https://schemas.invalid/";
/** Enough for an invoice of about 4,000 lines. The rules compare lines with each other, so more would take minutes. */
const MAX_NODES = 200_000;
/** Far more than an element of an invoice has. Each attribute is compared with all others. */
const MAX_ATTRIBUTES = 64;
/** Nothing is loaded over a network, and no entity is replaced. */
const OPTIONS = ParseOption.XML_PARSE_NONET | ParseOption.XML_PARSE_NO_XXE;

const registered = new Set<string>();

/** @returns why the text is not XML, or too large; empty if it is fine */
export function syntaxFindings(xml: string): Finding[] {
  try {
    const document = XmlDocument.fromString(xml, { option: OPTIONS });
    try {
      const isTooLarge = document.eval(`count(//node()) > ${MAX_NODES} or //*[count(@*) > ${MAX_ATTRIBUTES}]`);
      const message = `The XML has more than ${MAX_NODES} nodes, or ${MAX_ATTRIBUTES} attributes in an element.`;
      return isTooLarge === true ? [errorAt("xml-size", "XML", message)] : [];
    } finally {
      document.dispose();
    }
  } catch (error) {
    return findingsOf(error, "xml-syntax");
  }
}

/**
 * @param xml well-formed, without a document type declaration
 * @returns one finding for each mistake; none if the XML is valid
 */
export function schemaFindings(xml: string, schema: SchemaFiles): Finding[] {
  const document = XmlDocument.fromString(xml, { option: OPTIONS });
  try {
    const validator = validatorOf(schema);
    try {
      validator.validate(document);
      return [];
    } catch (error) {
      return findingsOf(error, "schema");
    } finally {
      validator.dispose();
    }
  } finally {
    document.dispose();
  }
}

function validatorOf({ main, files }: SchemaFiles): XsdValidator {
  const text = files[main];
  if (text === undefined) throw new Error(`The schema has no file ${main}`);
  if (!registered.has(main)) {
    const encoder = new TextEncoder();
    const buffers = Object.entries(files).map(
      ([name, content = ""]) => [BASE + name, encoder.encode(content)] as const,
    );
    xmlRegisterInputProvider(new XmlBufferInputProvider(Object.fromEntries(buffers)));
    registered.add(main);
  }
  const schema = XmlDocument.fromString(text, { url: BASE + main, option: OPTIONS });
  try {
    return XsdValidator.fromDoc(schema);
  } finally {
    schema.dispose();
  }
}

function findingsOf(error: unknown, rule: string): Finding[] {
  if (!(error instanceof XmlLibError)) throw error;
  const { details } = error;
  if (details.length === 0) return [errorAt(rule, "XML", sentence(error.message))];
  return details.slice(0, MAX_FINDINGS).map(({ line, message }) => errorAt(rule, `line ${line}`, sentence(message)));
}

/** A message of libxml2 without the namespaces that it puts before names: the names of the standard are enough for readers. */
function sentence(message: string): string {
  return message
    .replaceAll(/\{urn:un:unece:uncefact:data:standard:[^}]*\}/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
