/** In the pages of help, the address of this deployment takes the place of the one that stands for it in `docs/`. */
const deployment = new URL("..", location.href).href.replace(/\/$/, "");
for (const code of document.querySelectorAll("code")) {
  code.textContent = code.textContent.replaceAll("https://render.example", deployment);
}
