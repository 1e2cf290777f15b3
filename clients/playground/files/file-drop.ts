/** Takes files that are dropped on the page: anywhere, because the browser would open one that misses a zone. */
import { type AddedFiles, listDroppedFiles } from "./dropped-files.ts";

/** @param onDrop gets the files; null if they cannot be read */
export function connectFileDrop(maxFiles: () => number, onDrop: (added: AddedFiles | null) => void): void {
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.body.classList.add("is-dropping");
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("is-dropping");
  });
  addEventListener("drop", (event) => {
    document.body.classList.remove("is-dropping");
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    document.getElementById("files-tab")?.click();
    listDroppedFiles(event.dataTransfer, maxFiles()).then(onDrop, () => onDrop(null));
  });
}
