/** In the pages of help, the address of this deployment takes the place of the one that stands for it in `docs/`. */
for (const code of document.querySelectorAll("code")) {
  code.textContent = code.textContent.replaceAll("https://render.example", location.origin);
}
