/** The separator between two panes: moved by mouse, finger or arrow keys. The browser remembers where it stands. */
import { readStored, writeStored } from "./browser-storage.ts";

const DEFAULT_PERCENT = 50;
const MIN_PERCENT = 25;
const MAX_PERCENT = 75;
const STEP_PERCENT = 5;

/** @param container lays out the panes by its custom property `--first-pane` */
export function connectPaneSeparator(separator: HTMLElement, container: HTMLElement): void {
  const storageKey = `separator:${separator.id}`;
  let percent = DEFAULT_PERCENT;
  const show = (wanted: number) => {
    percent = Math.round(Math.min(MAX_PERCENT, Math.max(MIN_PERCENT, wanted)));
    container.style.setProperty("--first-pane", `${percent}%`);
    separator.setAttribute("aria-valuenow", String(percent));
  };
  const moveTo = (wanted: number) => {
    show(wanted);
    writeStored("local", storageKey, String(percent));
  };
  separator.setAttribute("aria-valuemin", String(MIN_PERCENT));
  separator.setAttribute("aria-valuemax", String(MAX_PERCENT));
  show(Number(readStored("local", storageKey)) || DEFAULT_PERCENT);
  separator.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    separator.focus();
    separator.setPointerCapture(event.pointerId);
  });
  separator.addEventListener("pointermove", ({ pointerId, clientX }) => {
    if (!separator.hasPointerCapture(pointerId)) return;
    const { left, width } = container.getBoundingClientRect();
    moveTo(((clientX - left) / width) * 100);
  });
  separator.addEventListener("dblclick", () => moveTo(DEFAULT_PERCENT));
  separator.addEventListener("keydown", (event) => {
    const targets: Readonly<Record<string, number>> = {
      ArrowLeft: percent - STEP_PERCENT,
      ArrowRight: percent + STEP_PERCENT,
      Home: MIN_PERCENT,
      End: MAX_PERCENT,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    moveTo(target);
  });
}
