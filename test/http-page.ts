import { writeFileSync } from "node:fs";
import { rowsFile } from "./support/rows-file.ts";

/* Writes src/operations/rows.ts and docs/api.md: `npm run docs:http`. The page needs the rows. */
writeFileSync("src/operations/rows.ts", rowsFile());
const { httpPage } = await import("./support/http-page.ts");
writeFileSync("docs/api.md", httpPage());
