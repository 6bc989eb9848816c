#!/usr/bin/env node
/*
 * The command `offload`. Plain JavaScript, so that an old Node can read it and say what it lacks: the local server and
 * the task files need Node 24, which is what Lambda runs. `init` runs on Node 20, too, and adds Node 24 to the project.
 */
import { existsSync, mkdirSync } from "node:fs";
import nodeModule, { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

const [major] = process.versions.node.split(".").map(Number);
const needed = process.argv[2] === "init" ? 20 : 24;
if (major < needed) {
  console.error(
    `offload needs Node ${needed} or later; this is ${process.version}. Call \`npx -p node@24 offload\`, or install Node 24. ` +
      "In your project, `npm install --save-dev node@24` adds it: npm scripts and `npx offload` then use it.",
  );
  process.exit(2);
}
const zod = zodVersion();
if (process.argv[2] !== "init" && !(Number.parseInt(zod, 10) >= 4)) {
  console.error(`offload needs zod 4; this project has ${zod === "" ? "none" : zod}. \`npm install zod@4\` adds it.`);
  process.exit(2);
}

/** Empty when zod is not installed. */
function zodVersion() {
  try {
    return createRequire(import.meta.url)("zod/package.json").version;
  } catch {
    return "";
  }
}
keepCompiledCode();

/**
 * Half of a command's start is the compilation of the same modules. The folder is this user's own, as Node trusts what
 * it finds there.
 */
function keepCompiledCode() {
  try {
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
    const folder = join(cache, "offload");
    for (const path of [cache, folder]) if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    nodeModule.enableCompileCache?.(folder);
  } catch {
    // Without a home, or when the home cannot be written, commands start as slowly as the first one.
  }
}

// The sources are in the repository, and the compiled code in the package.
const sources = new URL("../src/tools/cli/main.ts", import.meta.url);
const main = existsSync(sources) ? sources : new URL("../dist/src/tools/cli/main.js", import.meta.url);
const { run } = await import(main.href);
process.exitCode = await run(process.argv.slice(2));
