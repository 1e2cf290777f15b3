/** The dialog that shows the request as a curl command. */
import { type Draft, draftFileStem, requestBody } from "../drafts/draft.ts";
import { connectCopyButton } from "../page/copy-button.ts";
import { byId, saveFile } from "../page/elements.ts";
import { BODY_FILE_NAME, curlCommand, MAX_INLINE_BODY_CODE_UNITS } from "./curl.ts";

/** @param prepare returns the draft; or null, after the page has shown why it is not valid */
export function connectCurlDialog(prepare: () => Draft | null): void {
  const dialog = byId("curl-dialog", HTMLDialogElement);
  const text = byId("curl-text", HTMLTextAreaElement);
  const save = byId("curl-save", HTMLButtonElement);
  byId("curl-button", HTMLButtonElement).addEventListener("click", () => {
    const draft = prepare();
    if (draft === null) return;
    const body = requestBody(draft);
    const { format, members } = draft.output;
    const extension = members.archive === undefined ? format : "zip";
    text.value = curlCommand(location.origin, body, `${draftFileStem(draft)}.${extension}`);
    const isFile = body.length > MAX_INLINE_BODY_CODE_UNITS;
    save.hidden = !isFile;
    byId("curl-hint", HTMLElement).hidden = !isFile;
    save.onclick = () => saveFile(body, "application/json", BODY_FILE_NAME);
    dialog.showModal();
  });
  byId("curl-close", HTMLButtonElement).addEventListener("click", () => dialog.close());
  connectCopyButton(
    byId("curl-copy", HTMLButtonElement),
    () => text.value,
    () => text.select(),
  );
}
