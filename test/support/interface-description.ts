/**
 * Validates answers against the served interface description: status, headers, content type and body. The validator of
 * JSON Schema 2020-12 is one that the service does not use.
 */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as v from "valibot";

const header = v.looseObject({ required: v.optional(v.boolean(), false), schema: v.unknown() });
const response = v.looseObject({
  headers: v.record(v.string(), v.looseObject({ $ref: v.string() })),
  content: v.optional(v.record(v.string(), v.unknown()), {}),
});
const example = v.looseObject({ value: v.unknown() });
const operation = v.looseObject({
  responses: v.record(v.string(), v.union([v.strictObject({ $ref: v.string() }), response])),
  requestBody: v.optional(
    v.looseObject({
      content: v.looseObject({
        "application/json": v.looseObject({ examples: v.record(v.string(), example) }),
      }),
    }),
  ),
});
const description = v.looseObject({
  openapi: v.string(),
  info: v.looseObject({ version: v.string() }),
  paths: v.record(v.string(), v.record(v.string(), operation)),
  components: v.looseObject({
    headers: v.record(v.string(), header),
    responses: v.record(v.string(), response),
    schemas: v.record(v.string(), v.unknown()),
  }),
});

type Description = v.InferOutput<typeof description>;

/** Header fields that belong to HTTP itself and not to the interface. */
const HEADERS_OF_HTTP = new Set([
  "connection",
  "content-type",
  "content-length",
  "date",
  "vary",
  "keep-alive",
  "transfer-encoding",
]);

const HEADER_OF_PLATFORM = "cf-";
/** Between service and browser (CORS), and only where a deployment allows other origins: prose describes them. */
const HEADER_OF_BROWSERS = "access-control-";

const ID = "https://render.example/openapi.json";

export class InterfaceDescription {
  readonly document: Description;
  readonly #ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });

  /** @throws if the value is not a description that this class can read. */
  constructor(value: unknown) {
    this.document = v.parse(description, value);
    addFormats.default(this.#ajv);
    this.#ajv.addFormat("binary", true);
    this.#ajv.addVocabulary(["discriminator", "components", "openapi", "info", "servers", "tags", "paths"]);
    this.#ajv.addSchema(this.document, ID);
  }

  requestExamples(method: string, path: string): [name: string, body: unknown][] {
    const examples = this.#operation(method, path)?.requestBody?.content["application/json"].examples ?? {};
    return Object.entries(examples).map(([name, { value }]) => [name, value]);
  }

  validator(pointer: string): ValidateFunction {
    const validate = this.#ajv.getSchema(`${ID}#${pointer}`);
    if (validate === undefined) throw new Error(`the description has nothing at ${pointer}`);
    return validate;
  }

  /** Everything in an answer that the description does not allow, one line each. */
  async disagreements(method: string, path: string, answer: Response): Promise<string[]> {
    const pointer = this.#responsePointer(method, path, answer.status);
    if (pointer === null) return [`${method} ${path} answers ${answer.status}, which is not described`];
    const described = this.#responseAt(pointer);
    const lines = [...this.#headerDisagreements(described, answer.headers)];
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const type = (answer.headers.get("Content-Type") ?? "").split(";")[0] ?? "";
    const types = Object.keys(described.content);
    if (types.length === 0) return bytes.length === 0 ? lines : [...lines, "has a body that is not described"];
    if (!types.includes(type)) return [...lines, `Content-Type ${type} is not described`];
    if (bytes.length === 0) return [...lines, "has no body"];
    if (!/[/+]json$/.test(type)) return lines;
    const validate = this.validator(`${pointer}/content/${escaped(type)}/schema`);
    if (validate(JSON.parse(new TextDecoder().decode(bytes)))) return lines;
    return [...lines, this.#ajv.errorsText(validate.errors)];
  }

  *#headerDisagreements(described: v.InferOutput<typeof response>, headers: Headers): Generator<string> {
    for (const [field, { $ref }] of Object.entries(described.headers)) {
      const pointer = $ref.slice(1);
      const { required } = this.document.components.headers[$ref.split("/").at(-1) ?? ""] ?? { required: false };
      const value = headers.get(field);
      if (value === null) {
        if (required) yield `${field} is missing`;
      } else {
        const validate = this.validator(`${pointer}/schema`);
        if (!validate(value) && !(/^\d+$/.test(value) && validate(Number(value)))) yield `${field}: ${value}`;
      }
    }
    const fields = new Set(Object.keys(described.headers).map((field) => field.toLowerCase()));
    for (const name of headers.keys()) {
      const isOfOthers = name.startsWith(HEADER_OF_PLATFORM) || name.startsWith(HEADER_OF_BROWSERS);
      if (!fields.has(name) && !HEADERS_OF_HTTP.has(name) && !isOfOthers) yield `the header ${name} is not described`;
    }
  }

  #operation(method: string, path: string): v.InferOutput<typeof operation> | undefined {
    return this.document.paths[path]?.[method.toLowerCase()];
  }

  /** The description of an answer. Requests without an operation are answered the same on every path: 404 and 405. */
  #responsePointer(method: string, path: string, status: number): string | null {
    const found = this.#operation(method, path)?.responses[status];
    if (found !== undefined) {
      if ("$ref" in found && typeof found.$ref === "string") return found.$ref.slice(1);
      return `/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`;
    }
    if (status === 404 && this.document.paths[path] === undefined) return "/components/responses/NotFound";
    if (status === 405) return "/components/responses/MethodNotAllowed";
    return null;
  }

  #responseAt(pointer: string): v.InferOutput<typeof response> {
    const place = pointer
      .split("/")
      .slice(1)
      .reduce<unknown>((value, part) => Object(value)[part.replaceAll("~1", "/").replaceAll("~0", "~")], this.document);
    return v.parse(response, place);
  }
}

/** A name as a token of a JSON pointer (RFC 6901). */
function escaped(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
