/** Output options in words, as people know them. */
import type { DraftOutput } from "../drafts/draft.ts";

export function describeKind({ members }: DraftOutput): string[] {
  const { standards, version, ppi } = members;
  return [
    ...(standards === undefined ? [] : [JSON.parse(standards)].flat().map((each) => standardInWords(String(each)))),
    ...(version === undefined ? [] : [`PDF ${JSON.parse(version)}`]),
    ...(ppi === undefined ? [] : [`${JSON.parse(ppi)} ppi`]),
  ];
}

export function describeOptions(output: DraftOutput): string[] {
  const { filename, pages, page } = output.members;
  return [
    ...(filename === undefined ? [] : [String(JSON.parse(filename))]),
    ...describeKind(output),
    ...(pages === undefined ? [] : [`pages ${JSON.parse(pages)}`]),
    ...(page === undefined ? [] : [`page ${JSON.parse(page)}`]),
  ];
}

export function standardInWords(standard: string): string {
  return standard.startsWith("ua-") ? `PDF/UA-${standard.slice(3)}` : `PDF/A-${standard.slice(2)}`;
}
