import { writeFileSync } from "node:fs";
import { rowsFile } from "./support/rows-file.ts";

/* Writes src/api/acts/rows.ts and the pages of the HTTP API: `npm run docs:http`. The pages need the rows. */
writeFileSync("src/api/acts/rows.ts", rowsFile());
const { httpPages } = await import("./support/http-page.ts");
for (const [file, text] of Object.entries(httpPages())) writeFileSync(file, text);
