import { writeFileSync } from "node:fs";
import { openApiDocument } from "../../api/openapi/document.ts";
import { wholeApp } from "../../code/describe/load-app.ts";
import { tasksFolder } from "../../code/project/task-folder.ts";
import { packageVersion } from "../../installed/installation.ts";
import type { Register } from "./group.ts";

const help = `
The document describes every route, and the inputs and results of the task types in tasks/. A deployment and the local server
answer GET /openapi.json with the same document.

Examples:
  npx offload openapi --out openapi.json
  npx openapi-typescript openapi.json -o offload.d.ts --default-non-nullable false
`;

const options = [
  ["--out <file>", "write to this file; default: print"],
  ["--probes", "include the probe types", { initial: false }],
] as const;

/** `offload openapi` */
export const register: Register = (group) => {
  group.help(help).does(options, async ({ out, probes }) => {
    const { catalog } = await wholeApp(tasksFolder(), probes);
    const text = JSON.stringify(openApiDocument(catalog, packageVersion()), null, 2);
    if (out === undefined) return { text };
    writeFileSync(out, `${text}\n`);
    group.terminal.note(`${out} has the OpenAPI document.`);
  });
};
