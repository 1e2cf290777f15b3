/** The interface description (OpenAPI 3.1) of the edge, from the definitions in `rules/`, for `edge/static/openapi.json`. */
import { type JsonSchema, toJsonSchemaDefs } from "@valibot/to-json-schema";
import { CAPABILITIES_PATH } from "../../../protocol/capabilities.ts";
import { FILE_MEDIA_TYPES } from "../../../protocol/file-types.ts";
import {
  API_TOKEN_HEADER,
  COMMON_HEADERS,
  REQUEST_ID_HEADER,
  REQUEST_ID_PATTERN,
  SERVER_TIMING_HEADER,
} from "../../../protocol/headers.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "../../../rules/problem.ts";
import {
  capabilitiesExample,
  constraintsExample,
  type Example,
  problemExample,
  REQUEST_ID,
  requestExamples,
} from "./examples.ts";
import { ANY_FORMAT, REQUEST_SCHEMAS } from "./request-schemas.ts";
import { PROBLEM_CODES, problemSchemaName, RESPONSE_SCHEMAS } from "./response-schemas.ts";

/** The version of the interface (docs/api.md#versions). */
const INTERFACE_VERSION = "1.2.0";

const DESCRIPTION = `Send Typst source with files and JSON data to \`POST /v1/render\` and get a finished PDF, PNG, SVG or a ZIP archive of pages.

**Token.** \`/v1\` needs an API token in \`${API_TOKEN_HEADER}\`; everything else is open, unless the operator has protected \`/metrics\`.

**Problems.** Every error is \`${PROBLEM_MEDIA_TYPE}\` (RFC 9457). Branch on \`code\` or \`origin\`: \`request\` and \`template\` ask the caller to correct something, \`capacity\` to wait for \`Retry-After\`, and only \`service\` means that the service failed.

**Every response** has a \`${REQUEST_ID_HEADER}\` and may gain members; ignore those that you do not know. Requests are strict: an unknown field is rejected.

**Methods.** Every \`GET\` route answers \`HEAD\` as well, and every route \`OPTIONS\` with 204 and \`Allow\`.

**Browsers.** Pages of other origins may use a deployment if its operator allows their origin (CORS). They send the token in its header; credentials of the browser are not allowed.

**What is no HTTP request** never reaches the service: on the service's own hosts the server in front of it answers 400 in \`text/plain\`, 501 to an unknown method and 500 to \`CONNECT\`.

**Beyond this description.** Sizes in bytes, the number of files and rules over several fields cannot be written as a schema. \`GET /v1/constraints\` publishes them, with conformance vectors, so that a request can be checked before it is sent.`;

type Json = Readonly<Record<string, unknown>>;

const reference = (section: string) => (name: string) => ({ $ref: `#/components/${section}/${name}` });
const schema = reference("schemas");
const header = reference("headers");

/** A header that is in every response which has it in its description; a string, unless the schema says otherwise. */
const always = (description: string, of: Json = {}) => ({
  description,
  required: true,
  schema: { type: "string", ...of },
});

const HEADERS = {
  RequestId: always("The id of this request. Name it when you ask the operator about the request.", {
    pattern: REQUEST_ID_PATTERN.source,
    examples: [REQUEST_ID],
  }),
  NoSniff: always("The content is what `Content-Type` says.", { const: COMMON_HEADERS["X-Content-Type-Options"] }),
  NoStore: always("No cache may keep the response.", { const: "no-store" }),
  Revalidated: always(
    "The response may be kept, and must be revalidated with `If-None-Match` before it is used again.",
  ),
  KeptForAWhile: always("Every cache may keep the response for `max-age` seconds."),
  EntityTag: always("Changes when the content does. Send it in `If-None-Match`.", {
    examples: ['"8b1a9953c4611296a827abf8c47804d7"'],
  }),
  Allow: always("The methods of this path.", { examples: ["POST, OPTIONS", "GET, HEAD, OPTIONS"] }),
  RetryAfter: always("Seconds to wait before the request is sent again.", { type: "integer", minimum: 0 }),
  ServerTiming: {
    description:
      "Milliseconds of each phase of a render with a valid token: `receive`, `validate` and `origin` at the edge, then those of the backend.",
    schema: {
      type: "string",
      examples: ["receive;dur=1, validate;dur=0, origin;dur=31, queue;dur=0.1, compile;dur=24.5"],
    },
  },
  ContentDisposition: always(
    "The file name (RFC 6266): `inline` for a direct output, `attachment` for a ZIP archive.",
    { examples: ['inline; filename="invoice.pdf"', 'attachment; filename="slides.zip"'] },
  ),
  ContentLength: always("The size of the file in bytes.", { type: "integer", minimum: 1 }),
  SvgPolicy: {
    description: "With an SVG only: what is opened on its own runs nothing and loads nothing.",
    schema: { type: "string" },
  },
} as const satisfies Record<string, Json>;

type HeaderName = keyof typeof HEADERS;

function headers(byField: Readonly<Record<string, HeaderName>> = {}): Json {
  const all: Readonly<Record<string, HeaderName>> = {
    [REQUEST_ID_HEADER]: "RequestId",
    "X-Content-Type-Options": "NoSniff",
    ...byField,
  };
  return Object.fromEntries(Object.entries(all).map(([field, name]) => [field, header(name)]));
}

/** For all codes of the status, unless it says which. */
type ProblemResponse = readonly [
  status: number,
  description: string,
  headers?: Readonly<Record<string, HeaderName>>,
  codes?: readonly ProblemCode[],
];

/** In every response to a render whose token is valid. */
const TIMED = { [SERVER_TIMING_HEADER]: "ServerTiming" } as const;

const PROBLEM_RESPONSES = {
  InvalidRequest: [400, "The request is not valid, or its `Host` is not.", TIMED],
  InvalidUrl: [400, "`Host`, or the scheme that a proxy has set, does not make a valid URL.", {}, ["invalid_request"]],
  Forbidden: [403, "The token is missing or wrong."],
  NotFound: [404, "The path is misspelled: nothing is served there."],
  MethodNotAllowed: [
    405,
    "The path does not support this method. `Allow` lists those that it does.",
    { Allow: "Allow" },
  ],
  RenderTimeout: [
    408,
    "The render took too long, or too much processor time.",
    { "Retry-After": "RetryAfter", ...TIMED },
  ],
  TooLarge: [413, "The request, something in it or the output is over its limit.", TIMED],
  CompileFailed: [422, "Typst could not produce the requested output from this template.", TIMED],
  QueueFull: [
    429,
    "There was no room in time, or the caller sends requests too fast; nothing is broken. Wait, then send the request again.",
    { "Retry-After": "RetryAfter", ...TIMED },
  ],
  RenderFailed: [500, "The render failed for no reason in the template.", TIMED],
  Unavailable: [503, "The service, or something that it depends on, failed.", TIMED],
} as const satisfies Record<string, ProblemResponse>;

type ProblemResponseName = keyof typeof PROBLEM_RESPONSES;

const codesOf = (status: number) => PROBLEM_CODES.filter((code) => PROBLEMS[code].status === status);

/** The schemas for a status with several codes. Had they no names, generators would make some up: `InlineObject1`. */
const PROBLEMS_OF_STATUS: ReadonlyMap<number, string> = new Map([
  [400, "BadRequestProblem"],
  [413, "ContentTooLargeProblem"],
]);

/** One schema for problems with several codes; `code` is the discriminator. */
function problemsSchema(codes: readonly ProblemCode[]): Json {
  const mapping = Object.fromEntries(codes.map((code) => [code, schema(problemSchemaName(code)).$ref]));
  const oneOf = Object.values(mapping).map(($ref) => ({ $ref }));
  return { oneOf, discriminator: { propertyName: "code", mapping } };
}

function problemResponse([status, description, own, given]: ProblemResponse): Json {
  const codes = given ?? codesOf(status);
  const [first, ...others] = codes.map(problemSchemaName);
  return {
    description,
    headers: headers({ "Cache-Control": "NoStore", ...own }),
    content: {
      [PROBLEM_MEDIA_TYPE]: {
        schema: schema((others.length === 0 ? first : PROBLEMS_OF_STATUS.get(status)) ?? ""),
        examples: Object.fromEntries(codes.map((code) => [code, problemExample(code)])),
      },
    },
  };
}

function problems(...names: readonly ProblemResponseName[]): Json {
  return Object.fromEntries(names.map((name) => [PROBLEM_RESPONSES[name][0], reference("responses")(name)]));
}

/** The responses that every route may send. */
const ANYWHERE = ["InvalidUrl", "NotFound", "MethodNotAllowed", "Unavailable"] as const;
const OF_RENDERS = ["RenderTimeout", "TooLarge", "CompileFailed", "QueueFull", "RenderFailed"] as const;

const TOKEN = [{ apiToken: [] }];

const IF_NONE_MATCH = {
  name: "If-None-Match",
  in: "header",
  description:
    "Entity tags of responses that you have kept. Where one still matches, the response is 304 without a body.",
  schema: { type: "string" },
} as const;

const CACHED = { ETag: "EntityTag", "Cache-Control": "Revalidated" } as const;
/** Responses that a cache may use for a while without asking. */
const KEPT = { ETag: "EntityTag", "Cache-Control": "KeptForAWhile" } as const;

interface Route {
  readonly operationId: string;
  readonly tag?: "Rules" | "Operation";
  readonly summary: string;
  readonly description: string;
  readonly security?: readonly Json[];
  /** Of the response 200. */
  readonly answer?: string;
  readonly headers?: Readonly<Record<string, HeaderName>>;
  readonly mediaType?: string;
  readonly schema: Json;
  readonly example?: unknown;
  /** The problems beside those of every route. */
  readonly problems?: readonly ProblemResponseName[];
}

/** A route to read from: a document of the rules, unless it says otherwise. An entity tag can be revalidated. */
function get(route: Route): Json {
  const { operationId, tag = "Rules", summary, description, security = [], headers: own = CACHED } = route;
  const { answer = "The document.", mediaType = "application/json", schema: of, example } = route;
  const isTagged = "ETag" in own;
  return {
    get: {
      operationId,
      tags: [tag],
      summary,
      description,
      security,
      ...(isTagged && { parameters: [{ $ref: "#/components/parameters/IfNoneMatch" }] }),
      responses: {
        200: {
          description: answer,
          headers: headers(own),
          content: { [mediaType]: { schema: of, ...(example !== undefined && { example }) } },
        },
        ...(isTagged && {
          304: { description: "The response that you have kept is still current.", headers: headers(own) },
        }),
        ...problems(...(route.problems ?? []), ...ANYWHERE),
      },
    },
  };
}

/** The file that a render returns. For `format: binary`, code generators use a type for bytes. */
const FILE = { schema: { type: "string", format: "binary" } } as const;

function renderPath(requests: Readonly<Record<string, Example>>): Json {
  return {
    "/v1/render": {
      post: {
        operationId: "render",
        tags: ["Rendering"],
        summary: "Render a document",
        description:
          "Compiles the source and responds with the finished file. The body is JSON in UTF-8 without a content coding. Every request is validated completely before a render starts.",
        security: TOKEN,
        requestBody: {
          required: true,
          content: { "application/json": { schema: schema("RenderRequest"), examples: requests } },
        },
        responses: {
          200: {
            description: "The file. `Content-Type` says what it is.",
            headers: headers({
              "Cache-Control": "NoStore",
              "Content-Disposition": "ContentDisposition",
              "Content-Length": "ContentLength",
              "Content-Security-Policy": "SvgPolicy",
              ...TIMED,
            }),
            content: Object.fromEntries(Object.values(FILE_MEDIA_TYPES).map((type) => [type, FILE])),
          },
          ...problems(...ANYWHERE, "InvalidRequest", "Forbidden", ...OF_RENDERS),
        },
      },
    },
  };
}

function rulePaths(): Json {
  const constraints = constraintsExample();
  const { limits: _limits, output_rules, ...filesKeyRules } = constraints;
  return {
    "/v1/constraints": get({
      operationId: "getConstraints",
      summary: "Get the rules and limits of this deployment",
      description:
        "Everything by which a request is validated. Fetch it once at start, and again when the deployment changes. It takes no render slot.",
      security: TOKEN,
      answer: "The rules, and the limits of this deployment.",
      schema: schema("Constraints"),
      example: constraints,
      problems: ["Forbidden"],
    }),
    [CAPABILITIES_PATH]: get({
      operationId: "getCapabilities",
      summary: "Get what this deployment has installed",
      description:
        "The fonts, packages, versions of Typst and formats that every backend of the deployment has, so that any of them can render a document that uses them. It changes only with a deployment.",
      headers: KEPT,
      schema: schema("Capabilities"),
      example: capabilitiesExample(),
    }),
    "/files-key-rules.json": get({
      operationId: "getFilesKeyRules",
      summary: "Get the rules for file keys",
      description: "The rules of `/v1/constraints` for keys, without limits: the same for every deployment.",
      schema: schema("FilesKeyRules"),
      example: filesKeyRules,
    }),
    "/output-rules.json": get({
      operationId: "getOutputRules",
      summary: "Get the rules for the output options",
      description: "`output_rules` of `/v1/constraints`: the same for every deployment.",
      schema: schema("OutputRules"),
      example: output_rules,
    }),
    "/error-codes.json": get({
      operationId: "getErrorCodes",
      summary: "Get every error code",
      description: "Every code with its status, its origin and its cause.",
      schema: schema("ErrorCodes"),
    }),
    "/openapi.json": get({
      operationId: "getInterfaceDescription",
      summary: "Get this description",
      description: "OpenAPI 3.1.",
      schema: {
        type: "object",
        properties: {
          openapi: { type: "string", pattern: "^3\\.1\\." },
          info: { type: "object" },
          paths: { type: "object" },
        },
        required: ["openapi", "info", "paths"],
      },
    }),
  };
}

function operationPaths(): Json {
  return {
    "/health": get({
      operationId: "getHealth",
      tag: "Operation",
      summary: "Ask whether the service is alive",
      description: "Responds without asking a backend.",
      answer: "The service is alive.",
      headers: {},
      schema: schema("Health"),
      example: { status: "ok" },
    }),
    "/metrics": get({
      operationId: "getMetrics",
      tag: "Operation",
      summary: "Get metrics",
      description:
        "The metrics of every backend, distinguished by the label `origin`, at most a few seconds old. The operator of a deployment may require a separate token, sent as `Authorization: Bearer`, or switch this route off, which is then answered 404.",
      answer: "Metrics in the text format 0.0.4 of Prometheus.",
      headers: { "Cache-Control": "NoStore" },
      mediaType: "text/plain",
      schema: { type: "string" },
      example: 'service_origin_up{origin="backend-1"} 1\n',
      problems: ["Forbidden"],
    }),
  };
}

/** Many generators take a constant without `type` for a value of any type. */
function withTypeOfConstant(of: JsonSchema): JsonSchema | null {
  if (of.const === undefined) return null;
  return { type: typeof of.const === "string" ? "string" : "integer", ...of };
}

function schemas(): Json {
  const { RenderOutput, ...others } = toJsonSchemaDefs(
    { ...REQUEST_SCHEMAS, ...RESPONSE_SCHEMAS },
    {
      target: "draft-2020-12",
      typeMode: "input",
      errorMode: "throw",
      overrideSchema: ({ jsonSchema }) => withTypeOfConstant(jsonSchema),
      overrideRef: ({ referenceId }) => schema(referenceId).$ref,
    },
  );
  const unions = [...PROBLEMS_OF_STATUS].map(([status, name]) => [name, problemsSchema(codesOf(status))]);
  // Generators without unions make one object of the three, whose `format` would else be the constant of the last.
  const anyOutput = { type: "object", properties: { format: ANY_FORMAT }, ...RenderOutput };
  return { ...others, RenderOutput: anyOutput, ...Object.fromEntries(unions) };
}

export async function openApiDocument(): Promise<Json> {
  return {
    openapi: "3.1.1",
    info: {
      title: "Document rendering service",
      version: INTERFACE_VERSION,
      summary: "Typst source, files and data in; PDF, PNG or SVG out",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The deployment that serves this description" }],
    tags: [
      { name: "Rendering", description: "Documents" },
      { name: "Rules", description: "What a request must satisfy, to check it before it is sent" },
      { name: "Operation", description: "For those who run the service" },
    ],
    paths: { ...renderPath(await requestExamples()), ...rulePaths(), ...operationPaths() },
    components: {
      securitySchemes: {
        apiToken: {
          type: "apiKey",
          in: "header",
          name: API_TOKEN_HEADER,
          description: "A token that the operator of the deployment has given you.",
        },
      },
      parameters: { IfNoneMatch: IF_NONE_MATCH },
      headers: HEADERS,
      responses: Object.fromEntries(
        Object.entries(PROBLEM_RESPONSES).map(([name, definition]) => [name, problemResponse(definition)]),
      ),
      schemas: schemas(),
    },
  };
}
