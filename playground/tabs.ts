/** Tabs as in the ARIA Authoring Practices: arrow keys move between them, and the focused one is shown. */

/** Connects the tabs of a `tablist`. Returns a function that shows the tab of a panel. */
export function connectTabs(list: HTMLElement): (panelId: string) => void {
  const tabs = [...list.querySelectorAll<HTMLElement>('[role="tab"]')];
  const select = (tab: HTMLElement) => {
    for (const each of tabs) {
      const isSelected = each === tab;
      each.setAttribute("aria-selected", String(isSelected));
      each.tabIndex = isSelected ? 0 : -1;
      const panel = document.getElementById(each.getAttribute("aria-controls") ?? "");
      if (panel !== null) panel.hidden = !isSelected;
    }
  };
  for (const [index, tab] of tabs.entries()) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", ({ key }) => {
      const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 }[key];
      const target = next === undefined ? undefined : tabs.at(next % tabs.length);
      if (target === undefined) return;
      target.focus();
      select(target);
    });
  }
  return (panelId) => {
    const tab = tabs.find((each) => each.getAttribute("aria-controls") === panelId);
    if (tab !== undefined) select(tab);
  };
}
