#!/usr/bin/env node
/*
 * The command `offload`. Plain JavaScript, so that an old Node can read it and say what it lacks: the local server and the task
 * files need Node 24, which is what Lambda runs. `init` runs on Node 20, too, and adds Node 24 to the project.
 */
import { existsSync } from "node:fs";

const [major] = process.versions.node.split(".").map(Number);
const needed = process.argv[2] === "init" ? 20 : 24;
if (major < needed) {
  console.error(
    `offload needs Node ${needed} or later; this is ${process.version}. ` +
      "In your project, `npm install --save-dev node@24` adds it: npm scripts and `npx offload` then use it.",
  );
  process.exit(2);
}
// The sources are in the repository, and the compiled code in the package.
const sources = new URL("../src/cli/main.ts", import.meta.url);
const main = existsSync(sources) ? sources : new URL("../dist/src/cli/main.js", import.meta.url);
const { run } = await import(main.href);
process.exitCode = await run(process.argv.slice(2));
