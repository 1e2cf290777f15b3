/**
 * The pages of `docs/` that people need beside the playground, as pages of the deployment, in its version. They are one
 * folder below its root, to which their links lead: a proxy may serve it below a path.
 */
import { readFile } from "node:fs/promises";
import { Marked, type RendererObject } from "marked";
import { CLIENT_FILES, CLIENTS_PAGE, HELP_PAGES, HELP_PATH, helpPath } from "../../protocol/routes.ts";
import { provideStaticFile } from "./static-file.ts";

const PROJECT = new URL("../../", import.meta.url);

export async function provideHelpPages(): Promise<void> {
  for (const name of ["help.css", "help.js"]) {
    await provideStaticFile(helpPath(name).slice(1), await readFile(new URL(`clients/playground/${name}`, PROJECT)));
  }
  for (const name of HELP_PAGES) {
    const text = await readFile(new URL(`docs/${name}.md`, PROJECT), "utf8");
    await provideStaticFile(`${helpPath(name).slice(1)}/index.html`, Buffer.from(helpPage(text)));
  }
  await provideStaticFile(`${CLIENTS_PAGE.slice(1)}index.html`, Buffer.from(helpPage(CLIENTS)));
}

const packageOf = (name: string) => `https://render.example${CLIENTS_PAGE}${name}`;

const CLIENTS = `# Clients

This deployment serves its clients, in its own version, with their [checksums](${CLIENT_FILES.sums}).

- [Command line](command-line.md), for Node 22.12 or newer: \`npm install --global ${packageOf(CLIENT_FILES.cli)}\`
- TypeScript and JavaScript: \`npm install ${packageOf(CLIENT_FILES.client)}\`
- Python 3.9 or newer: \`pip install ${packageOf(CLIENT_FILES.wheel)}\`
`;

function helpPage(text: string): string {
  const [, title = ""] = /^# (.+)$/m.exec(text) ?? [];
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeMarkup(title)}: document rendering service</title>
    <link rel="icon" href="../playground/icon.svg">
    <link rel="stylesheet" href="..${helpPath("help.css")}">
    <script src="..${helpPath("help.js")}" defer></script>
  </head>
  <body>
    <nav><a href="../">← Playground</a></nav>
    <main>
${new Marked({ renderer: RENDERER, async: false }).parse(text)}    </main>
  </body>
</html>
`;
}

const RENDERER: RendererObject = {
  heading({ tokens, depth, text }) {
    return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  },
  link({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    const target = targetOf(href);
    return target === null ? text : `<a href="${escapeMarkup(target)}">${text}</a>`;
  },
  // Marks of generated tables, and nothing else.
  html: () => "",
  image: () => "",
};

/** The anchor of a heading as the links between the pages of `docs/` spell it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, "")
    .replace(/\s/g, "-");
}

/** Where a link leads on a deployment; null if the deployment does not have it. */
function targetOf(href: string): string | null {
  if (/^(?:#|https:)/.test(href) || href === CLIENT_FILES.sums) return href;
  const [, page, anchor = ""] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return HELP_PAGES.some((name) => name === page) ? `..${HELP_PATH}/${page}${anchor}` : null;
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
