/** The worker that reads templates, for hints on a draft and for the colours of one text: a separate file, loaded with the page. */
import { coloursOf } from "../editor/typst-colours.ts";
import { answerQuestions } from "../page/timed-worker.ts";
import { openParser } from "./page-parser.ts";
import { type DraftTexts, templateHints } from "./template-hints.ts";

answerQuestions(openParser(), async (question: DraftTexts | string) =>
  typeof question === "string" ? coloursOf(question) : templateHints(question),
);
