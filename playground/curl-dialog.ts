/** The dialog that shows the request as a command. */
import { BODY_FILE_NAME, curlCommand, MAX_INLINE_BODY_CODE_UNITS } from "./curl.ts";
import { type Draft, requestBody } from "./draft.ts";
import { byId, saveFile } from "./elements.ts";

const COPIED_MILLISECONDS = 2000;

/** @param prepare the draft, or null if it is not valid, which the page then says */
export function connectCurlDialog(prepare: () => Draft | null): void {
  const dialog = byId("curl-dialog", HTMLDialogElement);
  const text = byId("curl-text", HTMLTextAreaElement);
  const copy = byId("curl-copy", HTMLButtonElement);
  const save = byId("curl-save", HTMLButtonElement);
  byId("curl-button", HTMLButtonElement).addEventListener("click", () => {
    const draft = prepare();
    if (draft === null) return;
    const body = requestBody(draft);
    const { format, members } = draft.output;
    const extension = members.archive === undefined ? format : "zip";
    text.value = curlCommand(location.origin, body, `document.${extension}`);
    const isFile = body.length > MAX_INLINE_BODY_CODE_UNITS;
    save.hidden = !isFile;
    byId("curl-hint", HTMLElement).hidden = !isFile;
    save.onclick = () => {
      const url = URL.createObjectURL(new Blob([body], { type: "application/json" }));
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
    const select = () => {
      text.select();
      say("Press Ctrl+C");
    };
    // There is no clipboard in insecure contexts, whatever the types say.
    const clipboard: Clipboard | undefined = navigator.clipboard;
    if (clipboard === undefined) select();
    else clipboard.writeText(text.value).then(() => say("Copied"), select);
  });
}
