import { mkdirSync, writeFileSync } from "node:fs";
import { consoleFiles } from "../src/installed/console-files.ts";

/* Writes the console's files into dist/console, where the installed package reads them. A part of `npm run build`. */

const folder = new URL("../dist/console/", import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(consoleFiles())) writeFileSync(new URL(name, folder), text);
