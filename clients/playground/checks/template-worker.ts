/** The worker that reads templates: a separate file, loaded with the page. */
import type { DraftFinding } from "./findings.ts";
import { openParser } from "./page-parser.ts";
import { type DraftTexts, templateHints } from "./template-hints.ts";
import { answerQuestions } from "./timed-worker.ts";

answerQuestions(openParser(), async (texts: DraftTexts): Promise<readonly DraftFinding[]> => templateHints(texts));
