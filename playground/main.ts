/** The playground: puts the parts of the page together. */
import { json } from "@codemirror/lang-json";
import { DEFAULT_LIMITS, type Limits } from "../rules/limits.ts";
import type { OutputField } from "../rules/output-options.ts";
import { PROBLEMS } from "../rules/problem.ts";
import { connectToken, readToken } from "./api-token.ts";
import { createCodeEditor } from "./code-editor.ts";
import { BODY_FILE_NAME, curlCommand, MAX_INLINE_BODY_CODE_UNITS } from "./curl.ts";
import { rangeOfPath } from "./data-range.ts";
import type { Draft } from "./draft.ts";
import { byId, makeButton, saveFile } from "./elements.ts";
import { draftOfBody, fetchExamples, type LoadedDraft } from "./examples.ts";
import { connectFilesPanel } from "./files-panel.ts";
import { type Finding, findingsOf, type ProblemReport, type Verdict, validateDraft } from "./findings.ts";
import { connectOutputPanel } from "./output-panel.ts";

import { ResultView } from "./result-view.ts";
import { callRender, fetchLimits } from "./service-call.ts";
import { connectTabs } from "./tabs.ts";
import { typstLanguage } from "./typst-language.ts";

/** Validation waits for a pause in typing. */
const VALIDATION_DELAY_MILLISECONDS = 150;

const COPIED_MILLISECONDS = 2000;

/** What the page begins with: it needs no file and shows what the service does. */
const FIRST_DRAFT: LoadedDraft = {
  source: `#set page(width: 148mm, height: 105mm, margin: 14mm)
#set text(size: 11pt)

= Hello, #data.name!

This page was made from #data.items.len() items:

#table(
  columns: (1fr, auto),
  stroke: 0.5pt + gray,
  ..data.items.map(item => (item.name, str(item.price))).flatten(),
)
`,
  data: `{
  "name": "world",
  "items": [
    { "name": "Paper", "price": 4.5 },
    { "name": "Ink", "price": 12 }
  ]
}`,
  files: [],
  output: { format: "pdf", filename: "hello.pdf" },
};

let limits: Limits = DEFAULT_LIMITS;
let pendingValidation: ReturnType<typeof setTimeout> | undefined;
let running: AbortController | null = null;
let isLoading = false;

const showPanel = connectTabs(byId("tabs", HTMLElement));
const source = createCodeEditor(
  byId("source-editor", HTMLElement),
  "Template (Typst)",
  typstLanguage,
  scheduleValidation,
);
const data = createCodeEditor(byId("data-editor", HTMLElement), "Data (JSON)", json(), scheduleValidation);
const files = connectFilesPanel(() => limits, scheduleValidation);
const output = connectOutputPanel(scheduleValidation);
const result = new ResultView(goTo);
const token = connectToken(() => void updateLimits());
const renderButton = byId("render", HTMLButtonElement);

renderButton.addEventListener("click", () => void render());
addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  void render();
});
connectCurl();
load(FIRST_DRAFT);
result.showMessage("Nothing rendered yet", "Choose an example or write a template, then press Render.");
void showExamples();
void updateLimits();

function draft(): Draft {
  return { source: source.text(), data: data.text(), files: files.files(), output: output.output() };
}

function load(loaded: LoadedDraft): void {
  isLoading = true;
  source.replace(loaded.source);
  data.replace(loaded.data);
  files.replace(loaded.files);
  output.replace(loaded.output);
  isLoading = false;
  validate();
}

function scheduleValidation(): void {
  if (isLoading) return;
  clearTimeout(pendingValidation);
  pendingValidation = setTimeout(validate, VALIDATION_DELAY_MILLISECONDS);
}

function validate(): Verdict {
  clearTimeout(pendingValidation);
  const verdict = validateDraft(draft(), limits);
  const findings = verdict.ok ? [] : verdict.findings;
  mark(findings);
  const unplaced = !verdict.ok && findings.length === 0 ? (verdict.problem?.detail ?? "") : "";
  const count = findings.length;
  const state = byId("validation", HTMLElement);
  state.dataset.state = verdict.ok ? "valid" : "invalid";
  state.textContent = verdict.ok ? "Valid request" : unplaced || `${count} problem${count === 1 ? "" : "s"}`;
  return verdict;
}

/** Shows findings at their fields, and how many each tab has. */
function mark(findings: readonly Finding[]): void {
  const fileMessages = new Map<string | null, string>();
  const outputMessages = new Map<OutputField, string>();
  const first: Partial<Record<"source" | "data", Finding>> = {};
  const counts = { source: 0, data: 0, files: 0 };
  for (const finding of findings) {
    const { place, message } = finding;
    switch (place.field) {
      case "source":
      case "data":
        counts[place.field]++;
        first[place.field] ??= finding;
        break;
      case "files":
        counts.files++;
        for (const key of place.keys.length === 0 ? [null] : place.keys) fileMessages.set(key, message);
        break;
      default:
        outputMessages.set(place.field, message);
    }
  }
  files.mark(fileMessages);
  output.mark(outputMessages);
  source.mark(first.source?.message ?? null, null);
  data.mark(first.data?.message ?? null, dataRange(first.data));
  byId("source-message", HTMLElement).textContent = first.source?.message ?? "";
  byId("data-message", HTMLElement).textContent = first.data?.message ?? "";
  for (const name of ["source", "data", "files"] as const) {
    const badge = byId(`${name}-badge`, HTMLElement);
    badge.hidden = counts[name] === 0;
    badge.textContent = counts[name] === 0 ? "" : `${counts[name]}`;
    badge.setAttribute("aria-label", `${counts[name]} problem${counts[name] === 1 ? "" : "s"}`);
  }
}

function dataRange(finding: Finding | undefined) {
  if (finding?.place.field !== "data") return null;
  const { offset, path } = finding.place;
  if (offset !== undefined) return { from: offset, to: offset + 1 };
  return path === undefined ? null : rangeOfPath(data.state, path);
}

/** Moves the focus to the field of a finding. */
function goTo({ place }: Finding): void {
  switch (place.field) {
    case "source":
    case "data":
      showPanel(`${place.field}-panel`);
      (place.field === "source" ? source : data).focus();
      break;
    case "files":
      showPanel("files-panel");
      files.focus();
      break;
    default:
      output.focus(place.field);
  }
}

async function render(): Promise<void> {
  if (running !== null) return;
  const verdict = validate();
  if (!verdict.ok) {
    showProblem(
      verdict.problem ?? { code: "invalid_request", detail: "The data is not JSON.", context: {} },
      verdict.findings,
    );
    const [first] = verdict.findings;
    if (first !== undefined) goTo(first);
    return;
  }
  if (readToken() === "") {
    token.open();
    return;
  }
  const controller = new AbortController();
  running = controller;
  renderButton.disabled = true;
  result.scrollIntoView();
  const started = performance.now();
  const outcome = await callRender(
    { body: verdict.body, data: data.text() },
    readToken(),
    controller.signal,
    result.showProgress(() => controller.abort()),
  );
  running = null;
  renderButton.disabled = false;
  switch (outcome.kind) {
    case "document":
      await result.showDocument(outcome.document, (performance.now() - started) / 1000);
      break;
    case "problem": {
      const findings = findingsOf(
        outcome.problem,
        files.files().map(({ key }) => key),
      );
      if (findings.length > 0) mark(findings);
      if (outcome.problem.code === "forbidden") token.show("rejected");
      result.showProblem({ ...outcome.problem, findings });
      break;
    }
    case "cancelled":
      result.showMessage("Cancelled", "The page no longer waits for this render.");
      renderButton.focus();
      break;
    case "unreachable":
      result.showMessage("The service cannot be reached", "Check the connection, then render again.");
  }
}

function showProblem(problem: ProblemReport, findings: readonly Finding[]): void {
  const title = Object.entries(PROBLEMS).find(([code]) => code === problem.code)?.[1].title ?? problem.code;
  result.showProblem({ code: problem.code, detail: problem.detail, title, requestId: null, findings });
}

/** Validates by the limits of this deployment, once there is a token for them. */
async function updateLimits(): Promise<void> {
  const used = readToken();
  if (used === "") return;
  const outcome = await fetchLimits(used);
  // Another one may have been entered meanwhile.
  if (readToken() !== used) return;
  token.show(outcome.kind === "forbidden" ? "rejected" : "set");
  if (outcome.kind !== "limits") return;
  ({ limits } = outcome);
  validate();
}

async function showExamples(): Promise<void> {
  const list = byId("examples", HTMLElement);
  const examples = await fetchExamples().catch(() => []);
  list.append(
    ...examples.map(({ title, body }) =>
      makeButton(title, { class: "chip" }, () => {
        load(draftOfBody(body));
        showPanel("source-panel");
        byId("status", HTMLElement).textContent = `Example loaded: ${title}`;
      }),
    ),
  );
}

function connectCurl(): void {
  const dialog = byId("curl-dialog", HTMLDialogElement);
  const text = byId("curl-text", HTMLTextAreaElement);
  const copy = byId("curl-copy", HTMLButtonElement);
  const save = byId("curl-save", HTMLButtonElement);
  byId("curl-button", HTMLButtonElement).addEventListener("click", () => {
    const verdict = validate();
    if (!verdict.ok) {
      void render();
      return;
    }
    const { format, members } = output.output();
    const extension = members.archive === undefined ? format : "zip";
    text.value = curlCommand(location.origin, verdict.body, `document.${extension}`);
    const isFile = verdict.body.length > MAX_INLINE_BODY_CODE_UNITS;
    save.hidden = !isFile;
    byId("curl-hint", HTMLElement).hidden = !isFile;
    save.onclick = () => {
      const url = URL.createObjectURL(new Blob([verdict.body], { type: "application/json" }));
      saveFile(url, BODY_FILE_NAME);
      URL.revokeObjectURL(url);
    };
    dialog.showModal();
  });
  byId("curl-close", HTMLButtonElement).addEventListener("click", () => dialog.close());
  copy.addEventListener("click", () => {
    const say = (label: string) => {
      copy.textContent = label;
      setTimeout(() => {
        copy.textContent = "Copy";
      }, COPIED_MILLISECONDS);
    };
    navigator.clipboard.writeText(text.value).then(
      () => say("Copied"),
      () => {
        text.select();
        say("Press Ctrl+C");
      },
    );
  });
}
