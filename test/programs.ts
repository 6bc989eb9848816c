import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, packed, root } from "./support/packed.ts";

/*
 * Uses the packed file in the programs of test/programs, as they are in other people's projects: CommonJS and ES modules, their test runners,
 * their compilers and their settings. `node test/programs.ts [name]...` runs the named ones only.
 */

const folder = mkdtempSync(join(tmpdir(), "offload-programs-"));
const step = (text: string) => console.log(`- ${text}`);

/** Copies a program below the folder that has Offload, and installs its own packages. */
function programWith(name: string, as: string, packages: readonly string[]): string {
  const project = join(folder, as);
  cpSync(join(root, "test/programs", name), project, { recursive: true });
  if (name !== "jest") writeFileSync(join(project, "package.json"), '{ "private": true }');
  if (packages.length > 0) call(project, "npm", "install", "--no-audit", "--no-fund", ...packages);
  return project;
}

/** A Node without `require` of ES modules, as are the loaders of runners: they get the CommonJS files. */
const olderLoader = "--no-experimental-require-module";

const entries = ["", "/client", "/direct", "/testing", "/schedules", "/triggers", "/cdk"].map(
  (name) => `offload${name}`,
);

/** Both kinds of modules in one process: one copy in Node itself; where there are two, errors and files of one are known to the other. */
function useBoth(): void {
  const requireAll = entries.map(
    (name) => `if (Object.keys(require("${name}")).length === 0) throw new Error("${name}");`,
  );
  call(folder, "node", olderLoader, "-e", requireAll.join("\n"));
  call(
    folder,
    "node",
    "-e",
    'import("offload").then((o) => { if (o.TaskError !== require("offload").TaskError) throw new Error("two copies"); })',
  );
  step("every entry is loaded by `require`, also by a loader that cannot require ES modules; Node itself has one copy");
}

function useRunners(): void {
  for (const version of ["29", "30"]) {
    const project = programWith("jest", `jest${version}`, [`jest@${version}`]);
    call(project, "npx", "jest");
    const replaced = { testMatch: ["**/tasks.test.js"], fakeTimers: { enableGlobally: true } };
    call(project, "npx", "jest", "--config", JSON.stringify(replaced));
  }
  step("Jest 29 and 30, CommonJS, without flags, and with timers that are replaced for all tests");
  for (const version of ["3", "4"]) {
    const project = programWith("jest", `vitest${version}`, [`vitest@${version}`]);
    call(project, "npx", "vitest", "run", "--globals");
  }
  step("Vitest 3 and 4");
  call(programWith("mocha", "mocha", ["mocha@11"]), "npx", "mocha", "*.test.js");
  call(programWith("node-test", "node-test", []), "node", "--test");
  step("Mocha and node:test");
}

function useCdk(): void {
  const project = programWith("cdk-app", "cdk-app", ["ts-node@10", "tsx@4", "typescript@5.6", "@types/node@22"]);
  call(project, "npx", "ts-node", "--prefer-ts-exts", "bin/shop.ts");
  call(project, "npx", "tsx", "bin/shop.ts");
  step("a CommonJS CDK app under ts-node and tsx");
}

/** Compilers, with the resolutions that each has. The oldest does not read zod's and the CDK's own declarations in all of them. */
const compilers = {
  "5.4": ["node10", "node16"],
  "5.5": ["node10"],
  "5.6": ["node10"],
  "5.7": ["nodenext"],
  "5.8": ["bundler"],
  "5.9": ["node10", "nodenext"],
  "6.0": ["bundler"],
  "7.0": ["nodenext", "bundler"],
};
const moduleOf = { node10: "commonjs", node16: "node16", nodenext: "nodenext", bundler: "esnext" };

function compile(): void {
  const names = Object.keys(compilers).map((version) => `typescript${version}@npm:typescript@${version}`);
  const project = programWith("types", "types", ["@types/node@22", ...names]);
  cpSync(join(project, "use.ts"), join(project, "use.mts"));
  for (const [version, resolutions] of Object.entries(compilers)) {
    for (const resolution of resolutions as (keyof typeof moduleOf)[]) {
      const compiler = join(project, `node_modules/typescript${version}/bin/tsc`);
      const file = resolution === "nodenext" ? "use.mts" : "use.ts";
      const settings = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", "--esModuleInterop"];
      const check = ["--skipLibCheck", "false", "--module", moduleOf[resolution], "--moduleResolution", resolution];
      call(project, "node", compiler, ...settings, ...check, file);
      step(`TypeScript ${version}, ${resolution}, with every declaration checked`);
    }
  }
}

/** The package of the clients: its size, and its types beside those of a project's tasks. */
function useClient(): void {
  const file = packed(join(root, "packages/client"), folder, "--ignore-scripts");
  const project = programWith("client", "client", [file, "typescript@5.9", "@types/node@22"]);
  const bytes = Number(call(project, "du", "-sb", "node_modules/offload-client").split("\t")[0]);
  if (bytes > 1_000_000) throw new Error(`offload-client has ${bytes} bytes`);
  for (const options of ["--module nodenext", "--module commonjs --moduleResolution node10"]) {
    const settings = ["--noEmit", "--strict", "--target", "es2022", "--types", "node", "--esModuleInterop"];
    call(project, "npx", "tsc", ...settings, "--skipLibCheck", "false", ...options.split(" "), "use.ts");
  }
  call(project, "node", olderLoader, "-e", 'require("offload-client").createClient; require("offload-client/direct")');
  step(`offload-client: ${bytes} bytes, its types fit those of tasks, both kinds of modules`);
}

const parts = { both: useBoth, runners: useRunners, cdk: useCdk, types: compile, client: useClient };

try {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  call(folder, "npm", "install", packed(root, folder), "zod", "aws-cdk-lib", "constructs", "node@24");
  const named = process.argv.slice(2);
  for (const [name, use] of Object.entries(parts)) if (named.length === 0 || named.includes(name)) use();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
