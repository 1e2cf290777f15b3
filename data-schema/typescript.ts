/**
 * TypeScript types of the data that a schema describes. Types cannot express all that a schema does: limits and patterns are left
 * out, and keywords that would change a type but cannot be expressed in it are named in a comment at the top.
 */
import { itemsOf, type Members, membersOf, schemaAt, stringsOf, unescaped } from "./schema-value.ts";

/** The type of the whole data. */
const ROOT_NAME = "Data";
/** Keywords that decide which members or items may exist, in ways that types cannot express. */
const BEYOND_TYPES = [
  "contains",
  "dependentRequired",
  "dependentSchemas",
  "else",
  "if",
  "not",
  "patternProperties",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
  "$dynamicRef",
];

/** The declarations of `Data` and of all types that it refers to. @param schema a valid schema, as a value */
export function typescriptOf(schema: unknown): string {
  return new Declarations(schema).text();
}

class Declarations {
  readonly #schema: unknown;
  /** The names of types by the JSON Pointers of their schemas, in the order of their declarations. */
  readonly #names = new Map([["#", ROOT_NAME]]);
  readonly #leftOut = new Set<string>();

  constructor(schema: unknown) {
    this.#schema = schema;
  }

  text(): string {
    const declarations: string[] = [];
    // The map grows while the types are written.
    for (const [reference, name] of this.#names) {
      const schema = schemaAt(reference, this.#schema);
      declarations.push(`${comment(schema, "")}export type ${name} = ${this.#typeOf(schema, "")};\n`);
    }
    const note =
      this.#leftOut.size === 0
        ? ""
        : `// The schema says more than these types: ${[...this.#leftOut].sort().join(", ")} ${this.#leftOut.size === 1 ? "is" : "are"} not in them.\n\n`;
    return note + declarations.join("\n");
  }

  #typeOf(schema: unknown, indent: string): string {
    if (schema === false) return "never";
    const members = membersOf(schema);
    for (const keyword of BEYOND_TYPES) if (members[keyword] !== undefined) this.#leftOut.add(keyword);
    const parts = this.#partsOf(members, indent);
    const own = this.#ownType(members, indent);
    if (own !== null) parts.unshift(own);
    const [first = "unknown"] = parts;
    return parts.length < 2 ? first : parts.map(bracketed).join(" & ");
  }

  /** The types from keywords with subschemas. All of them apply together. */
  #partsOf({ $ref, allOf, anyOf, oneOf }: Members, indent: string): string[] {
    const parts = typeof $ref === "string" ? [this.#named($ref)] : [];
    parts.push(...itemsOf(allOf).map((inner) => this.#typeOf(inner, indent)));
    for (const forms of [anyOf, oneOf]) {
      if (forms !== undefined) parts.push(union(itemsOf(forms).map((inner) => this.#typeOf(inner, indent))));
    }
    return parts.filter((part) => part !== "unknown");
  }

  /** The type from all other keywords; null if they say nothing. */
  #ownType(members: Members, indent: string): string | null {
    const { const: value, enum: values, type } = members;
    if (value !== undefined) return literal(value);
    if (values !== undefined) return union(itemsOf(values).map(literal));
    const types = stringsOf(type);
    if (types.length > 0) return union(types.map((name) => this.#typeNamed(name, members, indent)));
    if (members.properties !== undefined || members.required !== undefined) return this.#object(members, indent);
    return members.items !== undefined || members.prefixItems !== undefined ? this.#array(members, indent) : null;
  }

  #typeNamed(name: string, members: Members, indent: string): string {
    switch (name) {
      case "integer":
        return "number";
      case "array":
        return this.#array(members, indent);
      case "object":
        return this.#object(members, indent);
      default:
        return name;
    }
  }

  #array({ items, prefixItems }: Members, indent: string): string {
    const item = items === undefined ? "unknown" : this.#typeOf(items, indent);
    if (prefixItems === undefined) return `${bracketed(item)}[]`;
    // An array may be shorter: "minItems" is a limit, and limits are left out.
    const first = itemsOf(prefixItems).map((inner) => `${bracketed(this.#typeOf(inner, indent))}?`);
    return `[${[...first, ...(item === "never" ? [] : [`...${bracketed(item)}[]`])].join(", ")}]`;
  }

  #object({ properties, required, additionalProperties }: Members, indent: string): string {
    const inner = `${indent}  `;
    const needed = new Set(stringsOf(required));
    const described = membersOf(properties);
    const names = new Set([...Object.keys(described), ...needed]);
    const lines = [...names].map((name) => {
      const schema = Object.hasOwn(described, name) ? described[name] : true;
      const key = /^[\p{ID_Start}_$][\p{ID_Continue}_$]*$/u.test(name) ? name : JSON.stringify(name);
      const optional = needed.has(name) ? "" : "?";
      return `${comment(schema, inner)}${inner}${key}${optional}: ${this.#typeOf(schema, inner)};\n`;
    });
    if (additionalProperties !== false && (lines.length === 0 || additionalProperties !== undefined)) {
      // In TypeScript, an index signature has to fit the known members, too.
      const other = lines.length > 0 ? "unknown" : this.#typeOf(additionalProperties ?? true, inner);
      lines.push(`${inner}[name: string]: ${other};\n`);
    }
    return lines.length === 0 ? "{ [name: string]: never }" : `{\n${lines.join("")}${indent}}`;
  }

  /** The name of the type that a reference leads to. */
  #named(reference: string): string {
    if (schemaAt(reference, this.#schema) === undefined || !/^#(?:\/|$)/.test(reference)) {
      this.#leftOut.add(`"$ref": ${JSON.stringify(reference)}`);
      return "unknown";
    }
    const known = this.#names.get(reference);
    if (known !== undefined) return known;
    const words = unescaped(reference.split("/").at(-1) ?? "").match(/\p{ID_Continue}+/gu) ?? [];
    const base = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
    const stem = /^\p{ID_Start}/u.test(base) ? base : `Type${base}`;
    const taken = new Set(this.#names.values());
    let name = stem;
    for (let number = 2; taken.has(name); number++) name = `${stem}${number}`;
    this.#names.set(reference, name);
    return name;
  }
}

function comment(schema: unknown, indent: string): string {
  const { description } = membersOf(schema);
  if (typeof description !== "string" || description.trim() === "") return "";
  return `${indent}/** ${description.trim().replace(/\s+/g, " ").replaceAll("*/", "*\\/")} */\n`;
}

function literal(value: unknown): string {
  return typeof value === "object" && value !== null ? "unknown" : JSON.stringify(value);
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  if (distinct.includes("unknown")) return "unknown";
  return distinct.length === 0
    ? "never"
    : distinct.map((type) => (type.includes(" & ") ? `(${type})` : type)).join(" | ");
}

/** Brackets around a type that contains an operator. */
function bracketed(type: string): string {
  return /[|&]/.test(type) ? `(${type})` : type;
}
