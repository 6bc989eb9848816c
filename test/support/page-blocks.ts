import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { vi } from "vitest";
import * as z from "zod";
import { defineTask, type TaskType } from "../../src/core/task/task.ts";
import { type Fence, fencesOf, pages } from "./pages.ts";

/*
 * The blocks of the pages that do something outside of themselves, as programs: each is taken out of its page word for word, and runs with
 * fakes in the place of what it calls.
 */

/** Code that defines a task, or calls a service, a mailer, or Offload itself. */
const effect =
  /\bdefineT(?:ask|rigger)\(|\.(once|step|submit|submitMany|spawn|spawnAll|signal)\(|\b(fetch|sendMail|crashEverywhere)\(/;

/** The blocks with an effect. Quotes are files of `examples`, which have tests of their own. */
export const effectBlocks: readonly Fence[] = pages
  .flatMap(fencesOf)
  .filter(({ words: [language = "", from], text }) => /^tsx?$/.test(language) && from !== "from" && effect.test(text));

/** The effects of a program, in order: the name of the called function, and what it got as text. */
export type Effects = string[];

/** A module of a block: its own exports, and all names that it declares. */
export type BlockModule = Readonly<Record<string, unknown>>;

/** A test that a block has declared. */
export interface OwnTest {
  name: string;
  run: () => unknown;
}

/** The answer of a service to a request of a block. Undefined: an empty JSON object. */
export type Answer = (request: Request) => Response | undefined | Promise<Response | undefined>;

/** Text of what a call got: that of objects is their JSON. */
const textOf = (given: readonly unknown[]): string =>
  given.map((one) => (typeof one === "string" ? one : (JSON.stringify(one) ?? String(one)))).join(" ");

/** What the fakes find here: a block's imports are replaced by modules that read it. */
interface Stage {
  effects: Effects;
  tests: OwnTest[];
  client: unknown;
}

const stageName = "pageBlockStage";

/** A client of the API that notes its calls, and has a task for each submit. */
function notingClient(effects: Effects): unknown {
  const answers: Record<string, (...given: unknown[]) => unknown> = {
    submit: async () => ({ task_id: "t1" }),
    result: async () => ({ ok: true }),
    signal: async () => undefined,
    status: async () => ({ task_id: "t1", status: "pending" }),
    cancel: async () => undefined,
    task: (named) => ({ task_id: JSON.stringify(named) }),
    async *submitMany(_type: unknown, inputs: unknown) {
      for (const _ of inputs as unknown[]) yield { task: { task_id: "t1" } };
    },
    async *progress() {
      yield { status: "completed", progress: 100 };
    },
  };
  return new Proxy(
    {},
    {
      get: (_, name) => {
        const answer = answers[String(name)];
        if (answer === undefined) return undefined;
        return (...given: unknown[]) => {
          effects.push(`client.${String(name)} ${textOf(given)}`);
          return answer(...given);
        };
      },
    },
  );
}

/** Modules in the place of what a block imports: of the same names, and without a server behind them. */
const replaced: Readonly<Record<string, string>> = {
  vitest: `export { expect } from "vitest";
export const test = (name, run) => void globalThis.${stageName}.tests.push({ name, run });`,
  "offload/client": `export const createClient = () => globalThis.${stageName}.client;`,
  "offload/direct": `export const createDirectClient = () => globalThis.${stageName}.client;`,
};

const fakeFile = (name: string): string => `${name.replace("/", "-")}.mjs`;

/** The program of a block: what it declares, and takes from other blocks, is exported, too. */
function programOf(text: string, root: string): string {
  const names = /^(?:(?:const|let|(?:async )?function\*?) |import (?=\w+ from "\.\/))(\w+)/gm;
  const declared = [...text.matchAll(names)].map(([, name]) => name);
  const imported = text.replaceAll(
    /from "(vitest|offload\/client|offload\/direct)"/g,
    (_, name: string) => `from ${JSON.stringify(pathToFileURL(join(root, fakeFile(name))).href)}`,
  );
  return `${imported}\nexport { ${[...new Set(declared)].join(", ")} };\n`;
}

/** The file of a block: that of its first line, such as `// tasks/mail.send.ts`, else one of its own. */
function fileOf({ page, line, text }: Fence): string {
  const [, named] = /^\/\/ ((?:app|tasks|test)\/[\w./-]+\.tsx?)\n/.exec(text) ?? [];
  return join(basename(page, ".md"), named ?? `line-${line}.ts`);
}

/** The blocks in files, each importable by the others of its page. */
export class PageBlocks implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), "page-blocks-"));
  #runs = 0;

  constructor(all: readonly Fence[] = effectBlocks) {
    symlinkSync(join(import.meta.dirname, "../../node_modules"), join(this.#root, "node_modules"));
    writeFileSync(join(this.#root, "package.json"), '{ "type": "module" }');
    for (const [name, text] of Object.entries(replaced)) writeFileSync(join(this.#root, fakeFile(name)), text);
    const shared = join(import.meta.dirname, "snippets/tasks");
    for (const page of new Set(all.map(({ page }) => basename(page, ".md")))) {
      cpSync(shared, join(this.#root, page, "tasks"), { recursive: true });
    }
    for (const block of all) {
      const file = join(this.#root, fileOf(block));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, programOf(block.text, this.#root));
    }
  }

  /** Runs a block, with fakes of all that it calls. `vi.unstubAllGlobals` and `vi.restoreAllMocks` end them. */
  async run(block: Fence, answer: Answer = () => undefined): Promise<RunBlock> {
    const effects: Effects = [];
    const stage: Stage = { effects, tests: [], client: notingClient(effects) };
    const note =
      (name: string) =>
      async (...given: unknown[]): Promise<void> =>
        void effects.push(`${name} ${textOf(given)}`);
    const fetch = async (input: URL | string, init?: RequestInit): Promise<Response> => {
      const request = new Request(new URL(input, "http://page.test"), init);
      effects.push(textOf([`fetch ${request.method} ${request.url}`, await request.clone().text()]).trimEnd());
      return (await answer(request)) ?? Response.json({});
    };
    const declared = [...block.text.matchAll(/^declare (?:const|function) (\w+)/gm)].map(([, name = ""]) => name);
    const globals = {
      [stageName]: stage,
      defineTask,
      z,
      fetch,
      client: stage.client,
      taskId: "t1",
      send: note("send"),
    };
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    for (const name of declared) vi.stubGlobal(name, note(name));
    vi.spyOn(console, "log").mockImplementation(note("console.log"));
    // A module runs once: each run is one of its own.
    this.#runs += 1;
    const { href } = pathToFileURL(join(this.#root, fileOf(block)));
    const module = (await import(`${href}?run=${this.#runs}`)) as BlockModule;
    return { module, effects, tests: stage.tests, types: typesIn(module) };
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** A block that has run. */
export interface RunBlock {
  module: BlockModule;
  effects: Effects;
  tests: readonly OwnTest[];
  /** The task types that it defines, by their names. */
  types: ReadonlyMap<string, TaskType>;
}

const isType = (value: unknown): value is TaskType =>
  typeof value === "object" && value !== null && "handler" in value && "maxAttempts" in value;

const typesIn = (module: BlockModule): ReadonlyMap<string, TaskType> =>
  new Map(
    Object.values(module)
      .filter(isType)
      .map((type) => [type.name, type]),
  );
