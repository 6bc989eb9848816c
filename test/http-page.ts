import { writeFileSync } from "node:fs";
import { httpPage } from "./support/http-page.ts";

/* Writes docs/api.md: `npm run docs:http`. */
writeFileSync("docs/api.md", httpPage());
