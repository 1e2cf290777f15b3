/** The request as a shell command, in a dialog. The token is a shell variable, so that copied text never has it. */
import { API_TOKEN_HEADER } from "../../../protocol/headers.ts";
import { type Draft, draftFileStem, requestBody } from "../drafts/draft.ts";
import { connectCopyButton } from "../page/copy-button.ts";
import { DEPLOYMENT } from "../page/deployment.ts";
import { byId, saveFile } from "../page/elements.ts";

/** No line of a JSON text can equal it. */
const END_MARK = "END_OF_REQUEST";
const MAX_INLINE_BODY_CODE_UNITS = 8_000;

const BODY_FILE_NAME = "request.json";

/** @param prepare returns the draft; or null, after the page has shown why it is not valid */
export function connectCurlDialog(prepare: () => Draft | null): void {
  const dialog = byId("curl-dialog", HTMLDialogElement);
  const text = byId("curl-text", HTMLTextAreaElement);
  const save = byId("curl-save", HTMLButtonElement);
  byId("curl-button", HTMLButtonElement).addEventListener("click", () => {
    const draft = prepare();
    if (draft === null) return;
    const body = requestBody(draft);
    const isFile = body.length > MAX_INLINE_BODY_CODE_UNITS;
    text.value = curlCommand(draft, isFile ? null : body);
    save.hidden = !isFile;
    byId("curl-hint", HTMLElement).hidden = !isFile;
    save.onclick = () => saveFile(body, "application/json", BODY_FILE_NAME);
    dialog.showModal();
  });
  connectCopyButton(
    byId("curl-copy", HTMLButtonElement),
    () => text.value,
    () => text.select(),
  );
}

/** @param body null if it is in its file */
function curlCommand(draft: Draft, body: string | null): string {
  const { format, members } = draft.output;
  const extension = members.archive === undefined ? format : "zip";
  const lines = [
    `curl --fail-with-body -o ${draftFileStem(draft)}.${extension} ${DEPLOYMENT}/v1/render`,
    `  -H "${API_TOKEN_HEADER}: $SERVICE_API_TOKEN"`,
    `  -H 'Content-Type: application/json'`,
    body === null ? `  --data-binary @${BODY_FILE_NAME}` : `  --data-binary @- <<'${END_MARK}'`,
  ];
  const command = lines.join(" \\\n");
  return body === null ? `${command}\n` : `${command}\n${body}\n${END_MARK}\n`;
}
