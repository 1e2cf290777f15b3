/** Examples in the playground: taken apart into fields and put together again, they are the same requests. */
import { describe, expect, it } from "vitest";
import { requestBody } from "../../playground/draft.ts";
import { draftOfBody } from "../../playground/examples.ts";
import { isOutputFormat } from "../../rules/output-options.ts";
import { exampleNames, exampleRequest } from "../../scripts/example-request.ts";

const EXAMPLES = await exampleNames();

describe("an example", () => {
  it.each(EXAMPLES)("is the same request after it has been in the fields: %s", async (name) => {
    const body = await exampleRequest(name);
    const { output, ...draft } = draftOfBody(body);
    const { format = "pdf", ...members }: { format?: unknown } = { ...output };
    if (!isOutputFormat(format)) throw new Error("an example has no format");
    const texts = Object.fromEntries(Object.entries(members).map(([field, value]) => [field, JSON.stringify(value)]));
    const again = requestBody({ ...draft, output: { format, members: texts } });
    expect(JSON.parse(again)).toEqual({ ...JSON.parse(body), output: { format, ...members } });
    expect(body).toContain(draft.data);
  });
});
