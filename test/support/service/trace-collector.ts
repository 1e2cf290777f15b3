/** A collector of OpenTelemetry traces: takes OTLP over HTTP in JSON, as a real one does, and keeps the spans. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { json } from "node:stream/consumers";
import { array, looseObject, number, optional, parse, string, union } from "valibot";
import { closeServer, listenOnLoopback } from "../loopback-server.ts";

const ATTRIBUTES = array(
  looseObject({
    key: string(),
    value: looseObject({ stringValue: optional(string()), intValue: optional(union([number(), string()])) }),
  }),
);

const EXPORT = looseObject({
  resourceSpans: array(
    looseObject({
      resource: looseObject({ attributes: ATTRIBUTES }),
      scopeSpans: array(
        looseObject({
          spans: array(
            looseObject({
              traceId: string(),
              spanId: string(),
              parentSpanId: optional(string()),
              name: string(),
              kind: number(),
              startTimeUnixNano: string(),
              endTimeUnixNano: string(),
              attributes: ATTRIBUTES,
              status: looseObject({ code: number() }),
            }),
          ),
        }),
      ),
    }),
  ),
});

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
  readonly startMilliseconds: number;
  readonly endMilliseconds: number;
  /** The attributes of the process that made it. */
  readonly resource: Readonly<Record<string, string | number>>;
}

export interface TraceCollector {
  readonly url: URL;
  readonly spans: CollectedSpan[];
  /** The path and the header fields of each export. */
  readonly exports: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly text: string }[];
  /** Whether exports are answered, and how. */
  answers: boolean;
  status: number;
  stop(): Promise<void>;
}

const ERROR_STATUS = 2;

export async function startTraceCollector(): Promise<TraceCollector> {
  const server = createServer((request, response) => {
    const taken = json(request).then((body) => {
      collector.exports.push({ path: request.url ?? "", headers: request.headers, text: JSON.stringify(body) });
      collector.spans.push(...spansOf(body));
      if (collector.answers) response.writeHead(collector.status, { "Content-Type": "application/json" }).end("{}");
    });
    // An export that the backend breaks off when it ends.
    taken.catch(() => request.destroy());
  });
  const collector: TraceCollector = {
    url: await listenOnLoopback(server),
    spans: [],
    exports: [],
    answers: true,
    status: 200,
    stop: () => closeServer(server),
  };
  return collector;
}

function spansOf(body: unknown): CollectedSpan[] {
  return parse(EXPORT, body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? "",
        name: span.name,
        attributes: valuesOf(span.attributes),
        isError: span.status.code === ERROR_STATUS,
        startMilliseconds: Number(span.startTimeUnixNano) / 1e6,
        endMilliseconds: Number(span.endTimeUnixNano) / 1e6,
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
}

function valuesOf(
  attributes: { key: string; value: { stringValue?: string | undefined; intValue?: number | string | undefined } }[],
) {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const),
  );
}
