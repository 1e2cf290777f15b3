/** A menu of buttons in a `<details>`: it closes when one is chosen, at Escape, and when the focus or a click leaves. */
export function connectMenu(menu: HTMLDetailsElement): void {
  const close = () => {
    menu.open = false;
  };
  const closeAndKeepFocus = () => {
    close();
    menu.querySelector("summary")?.focus();
  };
  menu.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && menu.open) closeAndKeepFocus();
  });
  menu.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest("button") !== null) closeAndKeepFocus();
  });
  addEventListener("pointerdown", ({ target }) => {
    if (target instanceof Node && !menu.contains(target)) close();
  });
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) close();
  });
}
