/** `init`: a new folder with a template, data, and what is needed to render it. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { draftSchema } from "../../data-schema/draft-schema.ts";
import { SCHEMA_FILE } from "../../data-schema/schema-file.ts";
import { CommandError, EXIT_CODES } from "../exit-codes.ts";
import { IGNORE_FILE } from "../files/ignore-rules.ts";
import { commandToCopy, printableLine } from "../terminal.ts";

const MAIN = `// The service puts the JSON of the request here as \`data\`.
#import "lib/letter.typ": letter

#set document(title: data.subject)
#show: letter.with(sender: data.sender, recipient: data.recipient)

= #data.subject

Dear #data.recipient.name,

#for paragraph in data.paragraphs [
  #paragraph

]

#table(
  columns: (1fr, auto),
  align: (left, right),
  table.header[Item][Price],
  ..data.items.map(item => (item.name, item.price)).flatten(),
)

Yours sincerely, \\
#data.sender.name
`;

const LETTER = `// The page of a letter: change it, and every letter changes.
#let letter(sender: (:), recipient: (:), body) = {
  set page(paper: "a4", margin: 25mm, footer: align(center, text(8pt, sender.name + " · " + sender.address)))
  set text(font: "Libertinus Serif", size: 11pt, lang: "en")
  set par(justify: true)
  image("/assets/logo.svg", height: 14mm, alt: "Logo")
  v(12mm)
  [#recipient.name \\ #recipient.address]
  v(12mm)
  body
}
`;

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><circle cx="32" cy="32" r="30" fill="#1d4e89"/><path d="M18 22h28v20H18z" fill="#fff"/><path d="m18 22 14 12 14-12" fill="none" stroke="#1d4e89" stroke-width="3"/></svg>
`;

const SENDER = { name: "Tern & Hale", address: "4 Harbour Row, Wexcombe" };
const person = (id: string, name: string, address: string, subject: string) => ({
  id,
  subject,
  sender: SENDER,
  recipient: { name, address },
  paragraphs: ["Thank you for your order. It left our workshop today.", "You will find the items below."],
  items: [
    { name: "Notebook", price: "12.50" },
    { name: "Ink, blue", price: "6.00" },
  ],
});
const DATA = person("ada", "Ada Marsh", "12 Mill Lane, Otterby", "Your order of 3 March");
const PEOPLE = [
  DATA,
  person("ben", "Ben Okafor", "7 Quay Street, Lowick", "Your order of 4 March"),
  person("cleo", "Cleo Lindqvist", "30 Station Road, Brant", "Your order of 5 March"),
];

const readme = (folder: string) => `# ${basename(folder)}

\`main.typ\` is the letter, \`data.json\` its content, and \`${SCHEMA_FILE}\` says what content a letter has: data that
does not fit it is never sent. Of the other files, those that the letter reads are sent, except what
\`.gitignore\` and \`${IGNORE_FILE}\` exclude; \`document-rendering render . --dry-run\` lists them.

    document-rendering render . -o letter.pdf           # one letter
    document-rendering check . --watch --open           # while you write: errors with their lines, and the pages
    document-rendering render . --each people.jsonl -o 'letters/{id}.pdf'

Set \`SERVICE_URL\` and \`SERVICE_API_TOKEN\`. In a checkout of the service, where each command begins with \`npx\`, the service
that \`npm start\` has started there is found without them.
`;

export function addInitCommand(program: Command): void {
  program
    .command("init")
    .summary("make a folder with a letter to begin with")
    .description("Creates a folder with a letter, its data and a README that says how to render it.")
    .argument("<folder>", "a new or empty folder")
    .action(async (folder) => {
      const root = resolve(folder);
      const present = await readdir(root).catch(() => []);
      if (present.length > 0) throw new CommandError(`${printableLine(folder)} is not empty.`);
      const files: Record<string, string> = {
        "main.typ": MAIN,
        "lib/letter.typ": LETTER,
        "assets/logo.svg": LOGO,
        "data.json": `${JSON.stringify(DATA, null, 2)}\n`,
        [SCHEMA_FILE]: `${JSON.stringify(draftSchema(PEOPLE), null, 2)}\n`,
        "people.jsonl": PEOPLE.map((someone) => `${JSON.stringify(someone)}\n`).join(""),
        "README.md": readme(root),
        ".gitignore": "*.pdf\nletters/\n",
        [IGNORE_FILE]: "# What is not sent to the service, in the syntax of .gitignore.\nREADME.md\n*.jsonl\n",
      };
      try {
        for (const [name, content] of Object.entries(files)) {
          await mkdir(dirname(join(root, name)), { recursive: true });
          await writeFile(join(root, name), content, { flag: "wx" });
        }
      } catch (error) {
        throw new CommandError(printableLine(`${folder} could not be created (${String(error)}).`), EXIT_CODES.failure);
      }
      process.stdout.write(
        `${printableLine(folder)} is ready: ${Object.keys(files).join(", ")}\n\n  ${commandToCopy(["render", folder])}\n`,
      );
    });
}
