/** Finds elements of the page by their ids, and makes new ones. Text is never parsed as HTML. */

export function byId<Type extends HTMLElement>(id: string, type: abstract new () => Type): Type {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`index.html has no ${type.name} #${id}`);
}

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}

export function makeButton(
  text: string,
  attributes: Readonly<Record<string, string>>,
  onPress: () => void | Promise<void>,
): HTMLButtonElement {
  const button = make("button", { type: "button", ...attributes }, text);
  button.addEventListener("click", () => void onPress());
  return button;
}

/** A download reads its object URL after the click. */
const DOWNLOAD_MILLISECONDS = 60_000;

export function saveFile(content: BlobPart, type: string, name: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), DOWNLOAD_MILLISECONDS);
}
