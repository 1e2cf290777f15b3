/**
 * The page of `check --watch --serve`: the pages of the document and the mistakes in it, reloaded at each event of the
 * server. Its policy allows no inline script or style, and what the server sends is only used as text or as the source
 * of an image.
 */
export const PAGE_HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Preview</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="preview.css">
<header><h1 id="name">Preview</h1><p id="status" role="status">Compiling …</p></header>
<pre id="report" tabindex="0" aria-label="Messages of Typst" hidden></pre>
<main id="pages"></main>
<script type="module" src="preview.js"></script>
</html>
`;

export const PAGE_CSS = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { margin: 0; background: light-dark(#e7e9ee, #1c1e22); }
header { position: sticky; top: 0; display: flex; gap: 1rem; align-items: baseline; padding: .5rem 1rem; background: light-dark(#fff, #2a2d33); border-bottom: 1px solid light-dark(#c4c8d0, #444); }
h1 { margin: 0; font-size: 1rem; }
#status { margin: 0; }
#report { margin: 1rem auto; padding: 1rem; max-width: 60rem; overflow: auto; background: light-dark(#fff, #2a2d33); border-left: .3rem solid #c33; }
#pages { display: grid; gap: 1rem; justify-items: center; padding: 1rem; }
img { max-width: 100%; height: auto; background: #fff; box-shadow: 0 1px 4px #0006; }
.is-old img { opacity: .5; }
`;

export const PAGE_SCRIPT = `const element = (id) => document.getElementById(id);
const pages = element("pages");
let updating = Promise.resolve();

async function update() {
  const { version, name, status, report, pageCount, isOld } = await (await fetch("state")).json();
  document.title = name;
  element("name").textContent = name;
  element("status").textContent = status;
  element("report").textContent = report;
  element("report").hidden = report === "";
  pages.classList.toggle("is-old", isOld);
  while (pages.children.length > pageCount) pages.lastChild.remove();
  while (pages.children.length < pageCount) pages.append(document.createElement("img"));
  for (const [index, image] of [...pages.children].entries()) {
    image.alt = "Page " + (index + 1);
    image.src = "pages/" + version + "/" + (index + 1) + ".svg";
  }
}

const events = new EventSource("events");
events.onmessage = () => {
  updating = updating.then(update).catch(disconnected);
};
events.onerror = disconnected;

function disconnected() {
  element("status").textContent = "Not connected: the command has ended.";
}
`;
