/**
 * What beginners write, with words of the sentence that names it and, of those from public questions about Typst, what is
 * right instead.
 */
export interface Mistake {
  readonly mistake: string;
  readonly meaning: string;
  readonly right?: string;
  readonly data?: object;
  readonly files?: Readonly<Record<string, string>>;
}

const IMAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';

const row = (
  mistake: string,
  meaning: string,
  right?: string,
  more: Pick<Mistake, "data" | "files"> = {},
): Mistake => ({
  mistake,
  meaning,
  ...(right !== undefined && { right }),
  ...more,
});
const of = (data: object) => ({ data });

export const MISTAKES: readonly Mistake[] = [
  row('#let a = ("Ada")\n#a.join(", ")', "an array with one item has a comma", '#let a = ("Ada",)\n#a.join(", ")'),
  row("#block(outset: (before: 1em))[a]", "The sides are left, right", "#block(outset: (left: 1em))[a]"),
  row(
    "#let total = 0\n#let add(x) = { total = total + x }\n#add(3)",
    "A function returns a value, and cannot change",
    "#let total = 0\n#{ total += 3 }\n#total",
  ),
  row("#block[\n  #set page(flipped: true)\n  a\n]", "Put such a rule outside", "#set page(flipped: true)\n#block[a]"),
  row("#block[a #pagebreak() b]", "End a page outside of blocks", "#block[a]\n#pagebreak()\nb"),
  row("$ 5ab $", "try adding spaces between each letter", "$ 5 a b $"),
  row(
    "#let setup() = {\n  set table(stroke: none)\n}\n#setup()\n#table[a]",
    "“set table(stroke: none)” has no effect",
    "#let setup(body) = {\n  set table(stroke: none)\n  body\n}\n#show: setup\n#table[a]",
  ),
  row(
    '#set heading(numbering: "1")\n= A <x>\n= B <x>\n@x',
    "Give each place a label of its own",
    '#set heading(numbering: "1")\n= A <x>\n= B <y>\n@x',
  ),
  row(
    "= Intro <intro>\nSee @intro.",
    "enable heading numbering",
    '#set heading(numbering: "1")\n= Intro <intro>\nSee @intro.',
  ),
  row("#let x, y = (1, 2)", "Put several names in parentheses", "#let (x, y) = (1, 2)"),
  row("#let t = [Hello *World*]\n#t.text", "not a text", '#let t = "Hello World"\n*#t*'),
  row("#for i in range(3) { i }", "[#i] shows a number", "#for i in range(3) [#i]"),
  row(
    "#if data.total > 100 [big]",
    "A number in quotes is a text",
    "#if int(data.total) > 100 [big]",
    of({ total: "120" }),
  ),
  row(
    "#data.items.map(i => i.price).sum()",
    ".sum(default: 0)",
    "#data.items.map(i => i.price).sum(default: 0)",
    of({ items: [] }),
  ),
  row(
    "#table(columns: 2, data.rows)",
    "passes them one by one",
    "#table(columns: 2, ..data.rows.flatten())",
    of({ rows: [["a", "b"]] }),
  ),
  row("#data.items.length()", "Did you mean .len()?", "#data.items.len()", of({ items: [1] })),
  row(
    '#data.date.display("[day].[month].[year]")',
    "JSON has no dates",
    '#data.date.split("-").rev().join(".")',
    of({ date: "2026-05-01" }),
  ),
  row("#rect(width: 5 cm)", "A unit follows its number", "#rect(width: 5cm)"),
  row('#text(fill: "red")[a]', "A color is a name without quotes", "#text(fill: red)[a]"),
  row("#text(fill: #ff0000)[a]", 'rgb("#ff0000")', '#text(fill: rgb("#ff0000"))[a]'),
  row('#set page(orientation: "landscape")', "Did you mean flipped: true?", "#set page(flipped: true)"),
  row("#set par(line-height: 1.5em)\na", "Did you mean leading?", "#set par(leading: 1.5em)\na"),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is the mistake
  row("Dear ${data.name},", "Write #data.name", "Dear #data.name,", of({ name: "Ada" })),
  row("#data.items[0].name", "Write an item as .at(0)", "#data.items.at(0).name", of({ items: [{ name: "a" }] })),
  row('#import "t.typ"\n#letter[Hi]', '#import "t.typ": letter', '#import "t.typ": letter\n#letter[Hi]', {
    files: { "t.typ": "#let letter(body) = body" },
  }),
  row("#link(“https://a.example”)[a]", "straight double quotes", '#link("https://a.example")[a]'),
  row(
    '#let letter(title: "", body) = body\n#show: letter(title: "x")\nHi',
    "give a template its options by .with",
    '#let letter(title: "", body) = body\n#show: letter.with(title: "x")\nHi',
  ),
  row("#round(3.14159, digits: 2)", "Did you mean calc.round?", "#calc.round(3.14159, digits: 2)"),
  row("a\n#pagebreak\nb", "write #pagebreak()", "a\n#pagebreak()\nb"),
  row("See [our site](https://a.example).", "a link is #link", 'See #link("https://a.example")[our site].'),

  // Units, brackets and signs.
  row("#text(size: 12px)[a]", "“px” is not a unit here: write pt, mm, cm, em or %."),
  row("#table(columns: 2, [a], [b", "This [ has no ]: look where it should end."),
  row('#text("abc)', 'End a text that begins with " with another one.'),
  row("It costs $5 a month, or $9.", "For the sign itself write \\$"),
  row("It costs $5", "$ begins a formula, and a second one ends it. For the sign itself write \\$."),
  row("# Heading", "A heading begins with =, and the sign itself is \\#."),
  row("me@example.com", "In an address or another text write \\@."),
  row("a#strong[b]]", "Nothing is open here"),
  row('#image("a.svg" width: 5cm)', "Put a comma between two entries"),
  row("#table(columns 2)", "a colon after the name of an option"),
  row("#table(columns: 2, [a], , [b])", "An entry is missing before this comma."),
  row("#text('a')", "straight double quotes"),
  row("#text(\\[a\\])", "look where it should end"),
  row("#let x = 1,5", "A decimal number has a point"),
  row("#(5 // 2)", "// begins a comment"),
  row("#(7 % 2)", "calc.rem(7, 2)"),
  row("#let b = 5 ** 2", "calc.pow(5, 2)"),
  row("#link(https://a.example)[b]", "In code, put an address in quotes."),
  row("#align(center horizon)[a]", "Add two alignments"),
  row("#rect(stroke: 1pt red)[a]", "Add thickness and color"),
  row('#show "a": *a*\na', "Put text within code in [ … ]."),
  row("#show heading: it -> it", "Write a function with =>"),

  // Words of other languages, and misspelt ones.
  row("#text(color: red)[a]", "Did you mean fill?"),
  row("#table(colums: 2)", "Did you mean columns?"),
  row('#set page(size: "a4")', "Did you mean paper?"),
  row("#line(from: (0pt, 0pt))", "The options of line are start, end, length, angle, stroke."),
  row("#text(bold: true)[a]", 'Did you mean weight: "bold"?'),
  row("#text(weight: bold)[a]", 'Did you mean "bold"?'),
  row('#text(weight: "blod")[a]', 'Did you mean "bold"?'),
  row('#set page(paper: "A4")', 'Did you mean "a4"?'),
  row("#let a = True", "Did you mean true?"),
  row("#var x = 5", "Did you mean let?"),
  row("#x = 5", "#let x = … defines it."),
  row("#text(size = 12pt)[a]", "Give an option with a colon"),
  row("#bold[a]", "Did you mean strong?"),
  row("#center[a]", "#align(center)[ … ]"),
  row("#red[a]", "#text(red)[ … ]"),
  row("#place(bottom-right)[a]", "Did you mean bottom + right?"),
  row("#let total = 1\n#totl", "Did you mean total?"),
  row("#xyzzy", "Nothing has this name"),
  row("#constructor", "Nothing has this name"),
  row("#len(data)", "Put it after its value"),
  row("#calc.sum((1, 2))", "Put it after its value"),
  row('#f"Hello"', "Put a text with values in [ … ]"),
  row("#data.name.toUpperCase()", "Did you mean upper(…)?", undefined, of({ name: "Ada" })),
  row('#(1.5).format("0.00")', "Did you mean str(calc.round(…, digits: 2))?"),
  row("#data.items.length", "Did you mean .len()?", undefined, of({ items: [1] })),
  row("#data.items.len > 0", "A method has parentheses: .len().", undefined, of({ items: [1] })),
  row("$alpha + \\frac{1}{2}$", "Write a formula without backslashes"),

  // Values of another kind.
  row('#align("center")[a]', "center and red have no quotes"),
  row('#("a" + 1)', "str(…) turns a number into text."),
  row("#set page(margin: 20)", "A length needs a unit"),
  row("#text(fill: blue.lighten(50))[a]", "A value such as 50% belongs here, not a number."),
  row("#rotate(90)[a]", "An angle has a unit"),
  row("#grid(2, [a], [b])", "Name the number: columns: 2."),
  row("#table(columns: auto, auto, [a])", "Put several values of one option in parentheses"),
  row('#lorem("5")', "A number in quotes is a text"),
  row("#(data.price * 1.19)", "A number in quotes is a text", undefined, of({ price: "10.00" })),
  row('#set par(justify: "true")\na', "Write true or false, without quotes."),
  row("#image()", "The function needs a value for source."),
  row("#page(margin: 2cm)\na", "use #set for all that follows"),
  row("#text(#x)", "In code, write a name without #."),
  row("#counter(page).get()", "Write context before it"),
  row("#(1, 2).at(2)", "its first item has the index 0"),
  row("#datetime(data.date)", "Name the parts of a date", undefined, of({ date: "2026-05-01" })),
  row('#datetime(year: 2026, month: 1, day: 2).display("[dd]")', "The parts of a date are"),
  row("#json(data).name", "The data is read already", undefined, of({ name: "a" })),
  row("#data.keys", "A method has parentheses: .keys().", undefined, of({ a: 1 })),
  row('#data.at("note", none)', 'at("name", default: none)', undefined, of({ a: 1 })),
  row('#(1, 2).sorted(key: "price")', "A function belongs here, as in item => item.price."),
  row("#csv(data.rows)", "csv(bytes(data.rows))", undefined, of({ rows: "a,b" })),
  row("#let d = {a: 1, b: 2}", "Put a dictionary in parentheses"),
  row("#for x in [1, 2] [#x]", "Put an array in parentheses"),
  row('#for row in csv("a.csv") [#row.name]', "row-type: dictionary", undefined, { files: { "a.csv": "name\nAda" } }),
  row('#csv("a.csv")', 'delimiter: ";"', undefined, { files: { "a.csv": "name;price\nAda;4,50" } }),
  row("#data.first name", '.at("first name")', undefined, of({ "first name": "a" })),
  row("#data.address.city", '.at("address.city")', undefined, of({ "address.city": "a" })),

  // Statements.
  row("#if true then [a]", "without “then”, “do” or a colon"),
  row('#if data.country is "DE" [a]', "Write a comparison with ==.", undefined, of({ country: "DE" })),
  row("#let x = 1\n#if x = 1 [a]", "A comparison has two equals signs"),
  row("#if false [a]\n#else [b]", "] else ["),
  row('#let x = "a" if true else "b"', "if a { b } else { c }"),
  row("#let f(x) { x }", "A definition has an equals sign"),
  row('#let my name = "x"', "A name has no spaces"),
  row("#for key, value in data [#key]", "Put two names in parentheses"),
  row("#for (i, x) in data.items [#i]", ".enumerate()", undefined, of({ items: [{ a: 1 }] })),
  row("#data.items.filter(paid == true)", "before =>", undefined, of({ items: [{ paid: true }] })),

  // Files and packages.
  row('#import "@preview/tablex": tablex', "Put the version after a colon"),
  row('#image("https://a.example/logo.png")', "Nothing is loaded from the web"),
  row('#include "a.typ"', "Other files do not see the data", undefined, { files: { "a.typ": "#data.name" } }),
  row('#include "chapter"', "Did you mean chapter.typ?", undefined, { files: { "chapter.typ": "a" } }),
  row('#image("../logo.svg")', "name them by their paths there"),

  // What renders, and is not what its author expects.
  row("a **b c** d", "“**b c**” is not bold: bold text stands between single *."),
  row("Hello {{ data.name }}", "a value of the data is #data.name"),
  row("Hello {data.name}", "a value of the data is #data.name", "#{data.name}", of({ name: "Ada" })),
  row("Hello <%= name %>", "a value of the data is #data.name"),
  row("#data.items.each(i => [#i])", "Did you mean for?", undefined, of({ items: ["a"] })),
  row("\\textbf{a}", "“\\textbf” is a command of LaTeX"),
  row('set page(paper: "a4")', "in text, code begins with #"),
  row("one<br>two", "is no markup here"),
  row("| a | b |\n|---|---|", "a table is #table"),
  row("* One\n* Two", "an item of a list begins with - instead"),
  row("![Logo](logo.png)", "an image is #image"),
  row("#if data.a == 1 [x] elseif data.a == 2 [y]", "write else if", undefined, of({ a: 2 })),
  row("$x^{10}$", "parentheses keep it together"),
  row("$$x + y$$", "is no formula"),
  row("#let total = 0\n#total += 1", "a value changes in #{ … }"),
  row("Dear data.name,", "a value of the data is #data.name", undefined, of({ name: "Ada" })),
  row("#data.address?.city", "default: none)", undefined, of({ address: { city: "a" } })),
  row("#data.2026", 'data.at("2026")', undefined, of({ 2026: 1 })),
  row('#let a = "Dear #data.name"\n#a', "put a text with values in [ … ]", undefined, of({ name: "Ada" })),
  row("=Summary\nAll is well.", "a space follows the =", "= Summary\nAll is well.\n\n=5"),
  row("for item in data.items [\n  - one\n]", "in text, code begins with #", undefined, of({ items: ["a"] })),
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is the mistake
  row('#let a = "Total ${data.total}"\n#a', "put a text with values in [ … ]", undefined, of({ total: "1" })),
  row("#show par: set block(spacing: 3em)\na", "write `set par(spacing: ..)` instead", "#set par(spacing: 3em)\na"),
  row(
    '#let total = state("total", 0)\n#let add(n) = {\n  let done = total.update(t => t + n)\n  [#n]\n}\n#add(1)',
    "an update counts where it is placed",
    '#let total = state("total", 0)\n#let add(n) = {\n  let done = total.update(t => t + n)\n  [#n#done]\n}\n#add(1)',
  ),
  row("#set text(fill: white)\na", "white text, and nothing", "#set page(fill: black)\n#set text(fill: white)\na"),
  row('#for a in ("Ada") [#a]', 'as in ("Ada",)', '#for a in "Ada" [#a]#for a in ("Ada", "Bob") [#a]'),
  row(
    "#table(columns: 3, table.header[A][B][C], ..data.items.map(i => (i.a, i.b, i.c, i.d)).flatten())",
    "makes 4 cells where the table has 3 columns",
    "#table(columns: 2, ..data.items.map(i => (i.a, i.b, i.c, i.d)).flatten())#table(columns: 3, ..data.items.map(i => (i.a, table.cell(colspan: 2, i.b))).flatten())",
    of({ items: [{ a: "1", b: "2", c: "3", d: "4" }] }),
  ),
  row(
    "#table(columns: (1cm, 1cm), ..for i in data.items { (i.a, i.b, i.c) })",
    "makes 3 cells where the table has 2 columns",
    "#table(columns: 6, ..for i in data.items { (i.a, i.b, i.c) })",
    of({ items: [{ a: "1", b: "2", c: "3" }] }),
  ),

  // Values of the data that are not what the template takes them for.
  row(
    '#for i in data.at("postions", default: ()) [#i]',
    'did you mean "positions"?',
    '#for i in data.positions [#i]#data.at("postions", default: none)#data.at("remark", default: none)',
    of({ positions: ["a"] }),
  ),
  row(
    '#for i in data.items [#i.at("nmae", default: "")]',
    'did you mean "name"?',
    undefined,
    of({ items: [{ name: 1 }] }),
  ),
  row("#for tag in data.tags [#tag]", "goes through the letters of data.tags", "#for letter in data.iban [#letter]", {
    data: { tags: "paper, ink", iban: "AT61" },
  }),
  row('#if data.paid == "true" [a]', "in the data it is true", '#if data.paid == true and data.kind == "x" [a]', {
    data: { paid: true, kind: "y" },
  }),
  row(
    "#data.items.filter(i => i.count == 3).len()",
    'in the data it is "3"',
    undefined,
    of({ items: [{ count: "3" }] }),
  ),
  row("#for i in data.items [#(i.price * i.count)]", "which Typst repeats", "#(data.year + data.number)", {
    data: { items: [{ price: "4.50", count: 2 }], year: "2026", number: "17" },
  }),
  row(
    "Dear #data.name,",
    "HTML, which is shown as it stands",
    '#data.name.replace("&amp;", "&")',
    of({ name: "A &amp; B" }),
  ),
  row('#datetime(year: 2026, month: 1, day: 2).display("%d.%m.%Y")', "[day], [month] and [year]"),
].map((one) => ({ ...one, files: { "a.svg": IMAGE, ...one.files } }));
