/** The worker that reads templates: a separate file, loaded with the page. */
import type { DraftFinding } from "./findings.ts";
import { openParser } from "./page-parser.ts";
import { type DraftTexts, templateHints } from "./template-hints.ts";
import { answerQuestions } from "./timed-worker.ts";

const opened = openParser();
answerQuestions(opened, async (texts: DraftTexts): Promise<readonly DraftFinding[]> => {
  await opened;
  return templateHints(texts);
});
// Reported as an error of the worker.
opened.catch((error: unknown) => reportError(error));
