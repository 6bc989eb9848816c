import { readFileSync } from "node:fs";
import { packageFolder } from "../../installed/installation.ts";

/*
 * Files of a new project, by their path in it. The texts are in `templates/`, where the compiler and the tests see them
 * as code.
 */

const template = (path: string): string => readFileSync(`${packageFolder}templates/${path}`, "utf8");

const asTheyAre = (...paths: string[]): Record<string, string> =>
  Object.fromEntries(paths.map((path) => [path, template(path)]));

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A task type, for a project without task types. */
export const example = () => asTheyAre("tasks/link.check.ts");

/** The test of the example. Node takes a `.mts` file as an ES module in a CommonJS project, too. */
export const exampleTest = (extension: "ts" | "mts"): Record<string, string> => ({
  [`test/link.check.test.${extension}`]: template("test/link.check.test.ts"),
});

/**
 * The list of the types, for typed clients. Its import ends in `.ts`, which a project's own `tsconfig.json` may not
 * allow.
 */
export const typesIndex = () => asTheyAre("tasks/index.ts");

/** Way in which stacks refer to each other. Without this setting, the CDK warns at each synthesis. */
const cdkContext = { "@aws-cdk/core:defaultCrossStackReferences": "weak" };

/** The CDK app. Node takes a `.mts` file as an ES module in a CommonJS project, too. */
export const cdkApp = (extension: "ts" | "mts"): Record<string, string> => ({
  [`bin/app.${extension}`]: template("bin/app.ts"),
  "cdk.json": json({ app: `node bin/app.${extension}`, context: cdkContext }),
});

/** Makes the files in a folder ES modules in a project whose own files are CommonJS. */
export const moduleFolder = (folder: string) => ({ [`${folder}/package.json`]: json({ type: "module" }) });

/** Settings of the task types, for editors, where the project's own compiler leaves them out. */
export const tasksConfig = () => ({
  "tasks/tsconfig.json": json({
    extends: "../tsconfig.json",
    compilerOptions: { rootDir: "..", noEmit: true, allowImportingTsExtensions: true },
    include: ["."],
    exclude: [],
  }),
});

/** Instructions for a project that has a CDK app. */
export const cdkByHand = (): string => template("cdk-app.txt");

export const common = (name: string): Record<string, string> => ({
  "tsconfig.json": template("tsconfig.json"),
  ".gitignore": template("gitignore"),
  "README.md": template("README.md").replace("NAME", name),
});
