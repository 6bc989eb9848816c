import { taskText } from "../../support/project.ts";

/** A project with most shapes of code that people have. Each type returns what shows that its code ran as it is meant. */
export const shapes: Readonly<Record<string, string>> = {
  "package.json": '{ "private": true, "type": "module", "name": "shapes" }',
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      ...{ target: "es2022", module: "esnext", moduleResolution: "bundler", strict: true, noEmit: true },
      ...{ experimentalDecorators: true, emitDecoratorMetadata: true, resolveJsonModule: true },
      ...{ jsx: "react", jsxFactory: "h", baseUrl: ".", paths: { "@/*": ["src/*"] } },
    },
  }),
  "tasks/environment.ts": `import { defineEnvironment } from "offload";
export default defineEnvironment({ variables: { SHOP_URL: "https://shop.example.com" }, secrets: { BILL_KEY: "shop/bill" } });`,

  "src/size.ts": "export const size: number = 3;",
  "tasks/js.extension.ts": taskText("js.extension", "size", 'import { size } from "../src/size.js";'),
  "tasks/no.extension.ts": taskText("no.extension", "size", 'import { size } from "../src/size";'),
  "tasks/path.alias.ts": taskText("path.alias", "size", 'import { size } from "@/size";'),

  "src/syntax.ts": `export enum Size { Large = "l" }
export namespace Units { export const metre = "m"; }
export class Box { constructor(readonly size: Size) {} }`,
  "tasks/syntax.ts": taskText(
    "syntax",
    "[new Box(Size.Large).size, Units.metre]",
    'import { Box, Size, Units } from "../src/syntax.ts";',
  ),

  "src/container.ts": `const types = new WeakMap<object, Function[]>();
(Reflect as any).metadata ??= (key: string, value: Function[]) => (target: object) => { if (key === "design:paramtypes") types.set(target, value); };
export const injectable = () => (_: Function) => {};
export const make = (type: any): any => new type(...(types.get(type) ?? []).map((one) => (one === Object ? "an interface" : make(one))));`,
  "src/options.ts": "export interface Options { loud: boolean }",
  "src/services.ts": `import { injectable } from "./container.ts";
import type { Options } from "./options.ts";
import { Options as Again } from "./options.ts";
@injectable() export class Clock { now() { return 7; } }
@injectable() export class Report { constructor(readonly clock: Clock, readonly options: Again) {} }
export type { Options };`,
  "tasks/decorator.metadata.ts": taskText(
    "decorator.metadata",
    "[make(Report).clock.now(), make(Report).options]",
    'import { make } from "../src/container.ts";\nimport { Report } from "../src/services.ts";',
  ),

  "tasks/view.tsx": taskText(
    "view",
    "<b>{size}</b>",
    'import { size } from "../src/size.ts";\nconst h = (...parts: unknown[]) => parts;',
  ),
  "src/rates.json": '{ "vat": 19 }',
  "tasks/json.import.ts": taskText("json.import", "rates.vat", 'import rates from "../src/rates.json";'),

  "packages/sizes/package.json":
    '{ "name": "@acme/sizes", "version": "1.0.0", "main": "./index.ts", "type": "module" }',
  "packages/sizes/index.ts":
    'import { large } from "./large"; export enum Kind { Large = "l" } export const kinds = [Kind.Large, large];',
  "packages/sizes/large.ts": "export const large = 3;",
  "tasks/workspace.package.ts": taskText("workspace.package", "kinds", 'import { kinds } from "@acme/sizes";'),

  "src/mail.txt": "Hello {name}",
  "src/old/package.json": '{ "type": "commonjs" }',
  "src/old/hello.js": `const text = require("node:fs").readFileSync(require("node:path").join(__dirname, "..", "mail.txt"), "utf8");
exports.hello = (name) => text.replace("{name}", name);`,
  "tasks/read.dirname.ts": taskText("read.dirname", 'hello("Ada")', 'import { hello } from "../src/old/hello.js";'),
  "src/mail.ts": `import { readFileSync } from "node:fs"; import { join } from "node:path";
export const top = readFileSync(new URL("./mail.txt", import.meta.url), "utf8");
export const later = () => readFileSync(join(import.meta.dirname, "mail.txt"), "utf8");
export const place = import.meta.url.split("/").slice(-2).join("/") + " " + import.meta.filename.split("/").at(-1);`,
  "tasks/read.url.ts": taskText(
    "read.url",
    "[top, later(), place]",
    'import { later, place, top } from "../src/mail.ts";',
  ),

  "src/thread.ts": `import { parentPort, workerData } from "node:worker_threads"; import { size } from "./size.ts";
parentPort?.postMessage(workerData + size);`,
  "tasks/worker.thread.ts": taskText(
    "worker.thread",
    'new Promise((done, fail) => new Worker(new URL("../src/thread.ts", import.meta.url), { workerData: 4 }).on("message", done).on("error", fail))',
    'import { Worker } from "node:worker_threads";',
  ),

  "src/settings.ts": `export const host = new URL(process.env.SHOP_URL!).host;
if (!process.env.BILL_KEY) throw new Error("BILL_KEY is required");
export const hasKey = true;`,
  "tasks/settings.at.top.ts": taskText(
    "settings.at.top",
    "[host, hasKey]",
    'import { hasKey, host } from "../src/settings.ts";',
  ),

  "node_modules/db/package.json": '{ "name": "db", "version": "1.0.0", "main": "index.js" }',
  "node_modules/db/index.js": `const drivers = { a: () => ({ name: "a" }), b: () => require("driver-that-is-not-installed") };
module.exports = (dialect) => drivers[dialect]();`,
  "tasks/optional.require.ts": taskText("optional.require", 'db("a").name', 'import db from "db";'),
  "node_modules/dual/package.json":
    '{ "name": "dual", "version": "1.0.0", "exports": { "import": "./index.mjs", "require": "./index.cjs" } }',
  "node_modules/dual/index.mjs": 'export const form = "module";',
  "node_modules/dual/index.cjs": 'exports.form = "commonjs";',
  "tasks/dual.package.ts": taskText("dual.package", "form", 'import { form } from "dual";'),
  "node_modules/pic/package.json": '{ "name": "pic", "version": "1.0.0", "main": "index.js" }',
  "node_modules/pic/index.js": `const name = ["./bin-" + process.platform, "pic.js"].join("/");
exports.scale = require(name).scale;`,
  "node_modules/pic/bin-linux/pic.js": "exports.scale = (n) => n * 2;",
  "node_modules/pic/bin-darwin/pic.js": "exports.scale = (n) => n * 2;",
  "tasks/computed.name.ts": taskText("computed.name", "scale(2)", 'import { scale } from "pic";'),
  "node_modules/fonts/package.json":
    '{ "name": "fonts", "version": "1.0.0", "type": "module", "exports": "./index.js" }',
  "node_modules/fonts/index.js": `import { readFileSync } from "node:fs";
export default () => readFileSync(new URL("./data/serif.txt", import.meta.url), "utf8");`,
  "node_modules/fonts/data/serif.txt": "serif",
  "tasks/package.data.ts": taskText("package.data", "fonts()", 'import fonts from "fonts";'),
  "tasks/own.require.ts": taskText(
    "own.require",
    'require("db")("a").name',
    'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);',
  ),
  "src/heavy.ts": 'import { size } from "./size.ts"; export const heavy = size + 1;',
  "tasks/late.import.ts": taskText("late.import", '(await import("../src/heavy.ts")).heavy'),
  "src/locales/en.ts":
    'import { size } from "../size"; export enum Word { Hi = "Hi" } export const hi = Word.Hi + size;',
  "src/locales/de.ts": 'export const hi = "Hallo";',
  "src/locales/rules.json": '{ "plural": "s" }',
  "src/greet.ts": `export const greet = async (language: string) => (await import(\`./locales/\${language}.ts\`)).hi;
export const greetBare = async (language: string) => (await import("./locales/" + language)).hi;`,
  "tasks/computed.import.ts": taskText(
    "computed.import",
    '[await greet("en"), await greetBare("de")]',
    'import { greet, greetBare } from "../src/greet.ts";',
  ),
  "src/old/load.js": `exports.rules = (name) => require("../locales/" + name).plural;
exports.place = (name) => require("node:fs").readFileSync(require.resolve(name), "utf8").length;`,
  "tasks/computed.require.ts": taskText(
    "computed.require",
    '[rules("rules.json"), rules("rules"), place("../mail.txt")]',
    'import { place, rules } from "../src/old/load.js";',
  ),
  "src/old/models/index.js": `const { readdirSync } = require("node:fs"); const path = require("node:path");
for (const file of readdirSync(__dirname).filter((name) => name !== "index.js")) exports[file.slice(0, -3)] = require(path.join(__dirname, file));`,
  "src/old/models/order.js": 'exports.table = "orders" + require("../suffix").suffix;',
  "src/old/models/user.js": 'exports.table = require("db")("a").name;',
  "src/old/suffix.js": 'exports.suffix = "_1";',
  "tasks/read.models.ts": taskText(
    "read.models",
    "[models.order.table, models.user.table]",
    'import models from "../src/old/models/index.js";',
  ),
  "src/by-path.ts":
    'import { parentPort } from "node:worker_threads"; import { add } from "./add.ts"; parentPort?.postMessage(add(1, 2));',
  "src/add.ts": "export const add = (a: number, b: number): number => a + b;",
  "tasks/thread.by.path.ts": taskText(
    "thread.by.path",
    'new Promise((done, fail) => new Worker(join(import.meta.dirname, "../src/by-path.ts")).on("message", done).on("error", fail))',
    'import { join } from "node:path";\nimport { Worker } from "node:worker_threads";',
  ),
  "packages/sizes/tsconfig.json": "{}",
  "packages/sizes/decorated.ts": `const named = (value: Function, { name }: ClassDecoratorContext) => { (value as any).title = "the " + String(name); };
@named export class Decorated { @twice accessor size = 2; }
function twice(target: ClassAccessorDecoratorTarget<Decorated, number>, _: ClassAccessorDecoratorContext) { return { ...target, get(this: Decorated) { return 2 * target.get.call(this); } }; }`,
  "packages/pages/tsconfig.json": '{ "compilerOptions": { "jsx": "preserve" } }',
  "packages/pages/view.tsx": `import ink from "inks"; export const view = (size: number) => <b>{size + ink()}</b>;`,
  "packages/pages/old.js": "export const old = <i>{2}</i>;",
  "node_modules/inks/package.json": '{ "name": "inks", "version": "1.0.0", "main": "index.js" }',
  "node_modules/inks/index.js":
    'module.exports = () => require("node:fs").readFileSync(require("node:path").join(__dirname, "ink.txt"), "utf8");',
  "node_modules/inks/ink.txt": "red",
  "node_modules/react/package.json":
    '{ "name": "react", "version": "19.0.0", "exports": { "./jsx-runtime": "./jsx-runtime.js" } }',
  "node_modules/react/jsx-runtime.js":
    "exports.jsx = (name, { children }) => name + children; exports.jsxs = exports.jsx;",
  "tasks/jsx.preserved.ts": taskText(
    "jsx.preserved",
    "[view(1), old]",
    'import { old } from "../packages/pages/old.js";\nimport { view } from "../packages/pages/view";',
  ),
  "tasks/sets.variables.ts": taskText(
    "sets.variables",
    "[process.env.SHOP_URL, process.env.NEW_ONE]",
    'process.env.NEW_ONE = "1"; process.env.NEW_ONE = "2"; process.env.SHOP_URL = String(process.env.SHOP_URL);',
  ),
  "tasks/standard.decorators.ts": taskText(
    "standard.decorators",
    "[(Decorated as any).title, new Decorated().size]",
    'import { Decorated } from "@acme/sizes/decorated.ts";',
  ),
  "tasks/old.extension.cjs": `const { defineTask } = require("offload");
const z = require("zod");
module.exports = defineTask({ name: "old.extension", input: z.strictObject({}), handler: async () => 3 });`,
  "tasks/typed.extension.cts": `import offload = require("offload");
import z = require("zod");
export = offload.defineTask({ name: "typed.extension", input: z.strictObject({}), handler: async () => 4 });`,
};

/** What the types return, on the laptop and in a bare folder. */
export const results = {
  "js.extension": 3,
  "no.extension": 3,
  "path.alias": 3,
  syntax: ["l", "m"],
  "decorator.metadata": [7, "an interface"],
  view: ["b", null, 3],
  "json.import": 19,
  "workspace.package": ["l", 3],
  "read.dirname": "Hello Ada",
  "read.url": ["Hello {name}", "Hello {name}", "src/mail.ts mail.ts"],
  "worker.thread": 7,
  "settings.at.top": ["shop.example.com", true],
  "optional.require": "a",
  "dual.package": "module",
  "computed.name": 4,
  "package.data": "serif",
  "own.require": "a",
  "late.import": 4,
  "computed.import": ["Hi3", "Hallo"],
  "computed.require": ["s", "s", 12],
  "read.models": ["orders_1", "a"],
  "thread.by.path": 3,
  "jsx.preserved": ["b1red", "i2"],
  "sets.variables": ["https://shop.example.com", "2"],
  "standard.decorators": ["the Decorated", 4],
  "old.extension": 3,
  "typed.extension": 4,
};
