/**
 * What a screen reader finds in each example, rendered as PDF/A and PDF/UA. The files in reading-order/ were read by a
 * person beside the pages: they make sense to somebody who has not seen these. Whoever changes one (`vitest -u`) reads it
 * again.
 */
import { expect, it } from "vitest";
import { EXAMPLE_NAMES } from "../../../protocol/routes.ts";
import { exampleRequest } from "../../../scripts/examples/example-request.ts";
import { readPdf } from "../../support/readers/pdf-reader.ts";
import { readTagTree } from "../../support/readers/tag-tree.ts";
import { sharedService } from "../../support/service/test-service.ts";

const service = await sharedService();

/** The e-invoice has an attached file, which PDF/A-2 does not take. */
const partOf = (name: string) => (name === "e-invoice" ? "3" : "2");

it.each(EXAMPLE_NAMES)(
  "the example %s is PDF/A of profile a and PDF/UA-1, and is read in the order of its pages",
  async (name) => {
    const request: Record<string, unknown> = JSON.parse(await exampleRequest(name));
    const answer = await service.render({ ...request, output: { standards: [`a-${partOf(name)}a`, "ua-1"] } });
    const bytes = Buffer.from(await answer.bytes());
    expect(answer.status, bytes.toString("utf8")).toBe(200);
    const { claims } = await readPdf(bytes);
    expect(claims).toMatchObject({ "pdfaid:part": partOf(name), "pdfaid:conformance": "A", "pdfuaid:part": "1" });
    const tree = await readTagTree(bytes);
    await expect(tree).toMatchFileSnapshot(`reading-order/${name}.txt`);
    expect(tree.match(/^ *H1: .+$/m)).not.toBeNull();
    // A table without headings, or a drawing or formula without words.
    expect(tree.match(/(?:^ *|[>|] )(?:Figure|Formula)(?: \||$)/m)).toBeNull();
    expect(
      tree
        .split(/^ *Table$/m)
        .slice(1)
        .every((table) => /(?:^ *|[>|] )TH column: \S/m.test(table)),
    ).toBe(true);
  },
);
