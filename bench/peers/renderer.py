"""Renders documents in process, for `npm run bench:peers`: `python renderer.py typst|weasyprint FOLDER`.

FOLDER holds `<document>.typ` and `<document>.json`, or `<document>.html`. Each line of standard input, such as
`invoice 10000 20`, asks for 20 tagged PDFs in which REQUEST_NUMBER is 10000 and so on. The answer is an empty line.
"""

import sys
from pathlib import Path

KIND, FOLDER = sys.argv[1], Path(sys.argv[2])


def typst_renderer():
    import typst

    fonts = typst.Fonts(include_system_fonts=False)
    # A compiler stays alive, and reuses what it has computed.
    compilers = {path.stem: typst.Compiler(path, root=FOLDER, font_paths=fonts) for path in FOLDER.glob("*.typ")}
    return lambda name, data: compilers[name].compile(format="pdf", sys_inputs={"data": data})


def weasyprint_renderer():
    from weasyprint import HTML

    return lambda name, page: HTML(string=page, base_url=f"{FOLDER}/").write_pdf(pdf_tags=True)


render, extension = (typst_renderer(), "json") if KIND == "typst" else (weasyprint_renderer(), "html")
texts = {path.stem: path.read_text() for path in FOLDER.glob(f"*.{extension}")}
for line in sys.stdin:
    name, first, count = line.split()
    for number in range(int(first), int(first) + int(count)):
        render(name, texts[name].replace("REQUEST_NUMBER", str(number)))
    print(flush=True)
