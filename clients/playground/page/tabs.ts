/** Tabs according to the ARIA Authoring Practices, where Delete closes those that can be closed. */

export type Tabs = ReturnType<typeof connectTabs>;

export function connectTabs(list: HTMLElement) {
  const closers = new Map<HTMLElement, () => void>();
  const tabs = () => [...list.querySelectorAll<HTMLElement>('[role="tab"]')];
  const select = (tab: HTMLElement) => {
    for (const each of tabs()) {
      const isSelected = each === tab;
      each.setAttribute("aria-selected", String(isSelected));
      each.tabIndex = isSelected ? 0 : -1;
      const panel = document.getElementById(each.getAttribute("aria-controls") ?? "");
      if (panel !== null) panel.hidden = !isSelected;
    }
    tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  list.addEventListener("click", ({ target }) => {
    const tab = target instanceof Element ? target.closest<HTMLElement>('[role="tab"]') : null;
    if (tab !== null) select(tab);
  });
  list.addEventListener("keydown", ({ key, target }) => {
    if (!(target instanceof HTMLElement)) return;
    const all = tabs();
    const index = all.indexOf(target);
    const current = all[index];
    if (current === undefined) return;
    if (key === "Delete") closers.get(current)?.();
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 }[key];
    const neighbour = next === undefined ? undefined : all.at(next % all.length);
    if (neighbour === undefined) return;
    neighbour.focus();
    select(neighbour);
  });
  return {
    show: (panelId: string) => {
      const tab = tabs().find((each) => each.getAttribute("aria-controls") === panelId);
      if (tab !== undefined) select(tab);
    },
    add: (tab: HTMLElement, onClose: () => void) => {
      list.append(tab);
      closers.set(tab, onClose);
    },
    /** Removes a tab. If it was shown, the tab before it is shown. */
    remove: (tab: HTMLElement) => {
      const all = tabs();
      const before = all[all.indexOf(tab) - 1];
      closers.delete(tab);
      tab.remove();
      if (tab.getAttribute("aria-selected") === "true" && before !== undefined) {
        select(before);
        before.focus();
      }
    },
  };
}
