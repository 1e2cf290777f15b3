const COPIED_MILLISECONDS = 2000;

/** @param select selects the text for people to copy it, where the page may not */
export function connectCopyButton(button: HTMLButtonElement, text: () => string, select: () => void): void {
  const label = button.textContent;
  const say = (said: string) => {
    button.textContent = said;
    setTimeout(() => {
      button.textContent = label;
    }, COPIED_MILLISECONDS);
  };
  const askToCopy = () => {
    select();
    say("Press Ctrl+C");
  };
  button.addEventListener("click", () => {
    // Insecure contexts have no clipboard, although the types say otherwise.
    const clipboard: Clipboard | undefined = navigator.clipboard;
    if (clipboard === undefined) askToCopy();
    else clipboard.writeText(text()).then(() => say("Copied"), askToCopy);
  });
}
