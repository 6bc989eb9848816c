import { allowedBuilds, builds } from "./builds.ts";
import type { ManagerName } from "./manager.ts";
import { cdkApp, cdkByHand, common, example, exampleTest, moduleFolder, tasksConfig, typesIndex } from "./templates.ts";
import { withoutTasks } from "./tsconfig.ts";

/** A `package.json`. */
export interface Manifest {
  name?: string;
  type?: string;
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  [member: string]: unknown;
}

/** A folder, as `init` finds it. */
export interface Folder {
  /** Its own name, which an empty project gets as its name. */
  name: string;
  /** Undefined: it has no `package.json`. */
  manifest: Manifest | undefined;
  /** True when there is a file or folder at this path. */
  has(path: string): boolean;
  /** True when it has nothing but what installing a package leaves. */
  isNew: boolean;
  /** True when `tasks/` has a code file. */
  hasTasks: boolean;
  /** Text of its `tsconfig.json`. Undefined: it has none. */
  tsconfig?: string | undefined;
  manager: ManagerName;
  /** True when the machine's own Node runs task files. */
  nodeSuffices: boolean;
}

/** Versions of Offload itself, and of the packages that it is tested with. */
export interface Versions {
  offload: string;
  packages: Readonly<Record<string, string>>;
}

/**
 * Changes that `init` makes. It overwrites no file, and changes no value except the `test` script that `npm init`
 * writes and the list of what the compiler leaves out.
 */
export interface Plan {
  /** New files, by their path. */
  files: Record<string, string>;
  /** The whole new `package.json`. Undefined: nothing is missing in it. */
  manifest: Manifest | undefined;
  /** Members that are added to `package.json`, such as `scripts.dev`. */
  added: string[];
  /** The whole new text of `tsconfig.json`, which compiles no file that is added. Undefined: it stays as it is. */
  tsconfig: string | undefined;
  /** True when the project gets the package `node`. */
  withNode: boolean;
  /** Sentences about what the user must do by hand. */
  byHand: string[];
}

const scripts = {
  dev: "offload dev",
  test: "vitest run",
  typecheck: "tsc --noEmit",
  synth: "cdk synth --quiet",
  deploy: "cdk deploy --all",
};

/** Packages that a project needs, besides Offload. The CDK is also needed where the CDK app is another. */
const runtimePackages = ["zod"];
const developmentPackages = ["@types/node", "aws-cdk", "aws-cdk-lib", "constructs", "typescript"];

/** Plans what a folder lacks to be a project with Offload. */
export function planInit(folder: Folder, { offload, packages }: Versions): Plan {
  const fresh = { name: packageName(folder.name), private: true, type: "module" };
  const found: Manifest = folder.isNew ? { ...fresh, ...folder.manifest } : (folder.manifest ?? fresh);
  const manifest = withoutPlaceholder(found);
  const withNode = needsNode(folder, manifest);
  const withVitest = (manifest.scripts?.test ?? "vitest").includes("vitest");
  const files = filesFor(folder, manifest, withVitest);
  const missing = Object.fromEntries(Object.entries(files).filter(([path]) => !folder.has(path)));
  const versions = (names: readonly string[]) => names.map((name) => [name, packages[name] ?? "*"] as const);
  const { next, added } = extended(manifest, {
    scripts: Object.entries(scripts),
    dependencies: [["offload", `^${offload}`], ...versions(runtimePackages)],
    devDependencies: versions([
      ...developmentPackages,
      ...(withNode ? ["node"] : []),
      ...(withVitest && !folder.hasTasks ? ["vitest"] : []),
    ]),
    ...allowedBuilds(folder.manager, builds(withNode)),
  });
  const tsconfig = folder.tsconfig === undefined ? undefined : withoutTasks(folder.tsconfig, compiled(missing));
  return {
    files: { ...missing, ...(tsconfig === undefined || folder.has("tasks/tsconfig.json") ? {} : tasksConfig()) },
    manifest: added.length > 0 || folder.manifest === undefined ? next : undefined,
    added: folder.manifest === undefined ? [] : added,
    tsconfig,
    withNode,
    byHand: [...(folder.has("cdk.json") ? [cdkByHand()] : []), ...(withVitest || folder.hasTasks ? [] : [ownRunner])],
  };
}

const ownRunner =
  "Your `npm test` stays as it is, so the example has no test. `offload/testing` works in your runner: `npx offload docs testing` shows how.";

/** The package `node` is also the Node of a project's scripts. Only a project without scripts of its own gets it. */
function needsNode({ nodeSuffices }: Folder, { scripts: own = {}, devDependencies = {} }: Manifest): boolean {
  const ours = new Map(Object.entries(scripts));
  const hasOwn = Object.entries(own).some(([name, script]) => ours.get(name) !== script);
  return Object.hasOwn(devDependencies, "node") || (!nodeSuffices && !hasOwn);
}

/** Paths of files that the project's own compiler would take, for the list of what it leaves out. */
function compiled(files: Readonly<Record<string, string>>): string[] {
  const code = Object.keys(files).filter((path) => /\.m?ts$/.test(path));
  return [...new Set(code.map((path) => (path.startsWith("tasks/") ? "tasks" : path)))];
}

/** All files that a project has with Offload. */
function filesFor(folder: Folder, manifest: Manifest, withVitest: boolean): Record<string, string> {
  const isModule = manifest.type === "module";
  return {
    ...(folder.hasTasks ? {} : { ...example(), ...(withVitest ? testFiles(folder, isModule) : {}) }),
    ...(folder.hasTasks || folder.has("tsconfig.json") ? {} : typesIndex()),
    ...(isModule ? {} : moduleFolder("tasks")),
    ...(folder.has("cdk.json") ? {} : cdkApp(isModule ? "ts" : "mts")),
    ...common(manifest.name ?? folder.name),
  };
}

/**
 * The example's test. A CommonJS project may have CommonJS tests in `test/`, so only a new `test/` gets a
 * `package.json`.
 */
function testFiles(folder: Folder, isModule: boolean): Record<string, string> {
  if (isModule) return exampleTest("ts");
  return folder.has("test") ? exampleTest("mts") : { ...exampleTest("ts"), ...moduleFolder("test") };
}

/** Leaves out the `test` script that `npm init` writes, which only fails. */
function withoutPlaceholder(manifest: Manifest): Manifest {
  const { test, ...others } = manifest.scripts ?? {};
  return test?.includes("no test specified") ? { ...manifest, scripts: others } : manifest;
}

type Entries = readonly (readonly [string, unknown])[];

/** Adds members to a manifest, where it does not have them in any of its kinds of dependencies. */
function extended(manifest: Manifest, additions: Readonly<Record<string, Entries>>) {
  const next: Manifest = { ...manifest };
  const added: string[] = [];
  const depends = { ...manifest.dependencies, ...manifest.devDependencies };
  for (const [section, entries] of Object.entries(additions)) {
    const present = (manifest[section] ?? {}) as Record<string, unknown>;
    const known = section.endsWith("ependencies") ? depends : present;
    const fresh = entries.filter(([name]) => !Object.hasOwn(known, name));
    if (fresh.length === 0) continue;
    next[section] = { ...present, ...Object.fromEntries(fresh) };
    added.push(...fresh.map(([name]) => `${section}.${name}`));
  }
  return { next, added };
}

/** A folder's name as a package's name: lower case, without spaces. */
const packageName = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "") || "tasks";
