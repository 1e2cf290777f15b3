/** Examples in the playground: split into fields and assembled again, they are the same requests. */
import { describe, expect, it } from "vitest";
import { requestBody } from "../../../../clients/playground/drafts/draft.ts";
import { draftOfExample } from "../../../../clients/playground/drafts/examples.ts";
import { EXAMPLE_NAMES } from "../../../../protocol/routes.ts";
import { exampleRequest } from "../../../../scripts/examples/example-request.ts";

describe("an example", () => {
  it.each(EXAMPLE_NAMES)("makes the same request again from the fields, without its schema: %s", async (name) => {
    const body = await exampleRequest(name);
    const draft = draftOfExample({ body, schema: "{}" });
    const { output = {} }: { output?: object } = JSON.parse(body);
    const expected = { ...JSON.parse(body), output: { format: "pdf", ...output } };
    expect(JSON.parse(requestBody(draft))).toEqual(expected);
    expect(body).toContain(draft.data);
  });
});
