import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { routeOf } from "../../src/api/http/routes.ts";
import { createClient } from "../../src/client/index.ts";
import { type ProblemCode, problemCodes } from "../../src/core/model/problem.ts";
import { pages, withoutFences } from "../support/pages.ts";
import { bare } from "../tools/cli/whole-program.ts";

/* What the pages say that there is: routes, problems, commands with their options, entries of the package, calls. The compiler checks blocks of TypeScript. */

const all = [...pages, ...globSync("examples/*/README.md").sort()];

interface Claim {
  page: string;
  claim: string;
}

/** The texts of the pages that a pattern finds, each once for a page. */
function claimsOf(pattern: RegExp, textOf: (page: string) => string): Claim[] {
  return all.flatMap((page) => {
    const found = [...textOf(page).matchAll(pattern)].map(([, first = "", second = ""]) => `${first} ${second}`.trim());
    return [...new Set(found)].map((claim) => ({ page, claim }));
  });
}

const wholeText = (page: string): string => readFileSync(page, "utf8");
const proseOf = (page: string): string => withoutFences(wholeText(page));

describe("every route in a page's prose exists", () => {
  /** Of the local server only, and of programs in the examples. */
  const others = /^(GET|POST) \/(_local\/|hooks\/|shop\/|videos|links|$)/;
  const claims = claimsOf(/`(GET|POST|PATCH|PUT|DELETE) (\/[^\s`?]*)/g, proseOf).filter(
    ({ claim }) => !others.test(claim),
  );

  test("the search finds the routes", () => {
    expect(new Set(claims.map(({ claim }) => claim)).size).toBeGreaterThan(60);
  });

  test("no page names another one", () => {
    const unknown = claims.filter(({ claim }) => {
      const [method = "", path = ""] = claim.split(" ");
      return !path.includes("...") && routeOf(method, path.replaceAll(/\{\w+\}/g, "x")) === undefined;
    });
    expect(unknown).toEqual([]);
  });
});

describe("every status with a code in a page is that of the problem", () => {
  const claims = claimsOf(/\b([45]\d\d) `([a-z_]+)`/g, wholeText);

  test("the search finds the problems", () => {
    expect(claims.length).toBeGreaterThan(30);
  });

  test("no page names another one", () => {
    const wrong = claims.filter(({ claim }) => {
      const [status, code = ""] = claim.split(" ");
      return problemCodes[code as ProblemCode]?.status !== Number(status);
    });
    expect(wrong).toEqual([]);
  });
});

describe("every command of `offload` with its options exists", () => {
  /** Without what follows the command in a line: a pipe, a comment, the options of another program. */
  const commandOf = (text: string): string =>
    text
      .replaceAll(/'[^']*'|"[^"]*"/g, "TEXT")
      .replaceAll("\\\n", " ")
      .split(/ -- | #|[|;&>)\n]/)[0] ?? "";
  const claims = claimsOf(/npx offload ((?:[^`\n]|\\\n)+)/g, wholeText);
  const helps = new Map<string, Promise<string>>();
  const helpOf = (words: readonly string[]): Promise<string> => {
    const key = words.join(" ");
    const known = helps.get(key) ?? bare([...words, "--help"]).then(({ out }) => out);
    helps.set(key, known);
    return known;
  };

  /** The part of a command that does not exist; undefined: all of it does. */
  async function faultOf(claim: string): Promise<string | undefined> {
    const [group = "", name = "", ...rest] = commandOf(claim).trim().split(/\s+/);
    if (!/^[a-z]+$/.test(group)) return undefined;
    const help = await helpOf([group]);
    if (help === "") return group;
    const isWord = /^[a-z-]+$/.test(name);
    const isCommand = isWord && new RegExp(`^ {2}${name}\\b`, "m").test(help.split("\nCommands:")[1] ?? "");
    const own = isCommand ? await helpOf([group, name]) : help;
    const options = [name, ...rest].flatMap((word) => /^--[a-z][a-z-]*/.exec(word) ?? []);
    return options.find((option) => option !== "--help" && !new RegExp(`${option}\\b`).test(own));
  }

  test("the search finds the commands", () => {
    expect(claims.length).toBeGreaterThan(150);
  });

  test("no page names another one", async () => {
    const faults = await Promise.all(
      claims.map(async ({ page, claim }) => ({ page, command: commandOf(claim), fault: await faultOf(claim) })),
    );
    expect(faults.filter(({ fault }) => fault !== undefined)).toEqual([]);
  });
});

describe("what exists is in a page", () => {
  const declaredIn = (file: string, pattern: RegExp, member: RegExp): string[] => {
    const [body = ""] = pattern.exec(readFileSync(file, "utf8")) ?? [];
    return [...body.matchAll(member)].map(([, name = ""]) => name);
  };

  test("every option of a task type", () => {
    const options = declaredIn("src/core/task/task.ts", /interface TaskOptions<[\s\S]*?\n\}/, /^ {2}(\w+)\??:/gm);
    const [, section = ""] = wholeText("docs/task-options.md")
      .split(/^## /m)
      .filter((part) => /^(# |Options)/.test(part));
    expect(options.length).toBeGreaterThan(20);
    expect(options.filter((name) => !new RegExp(`^\\|[^|]*\`${name}\``, "m").test(section))).toEqual([]);
  });

  test("every property of the construct", () => {
    const properties = ["lib/pipeline-props.ts", "lib/handler-options.ts"].flatMap((file) =>
      declaredIn(file, /interface[\s\S]*/, /^ {2}readonly (\w+)\??:/gm),
    );
    const text = globSync("docs/*.md").map(wholeText).join("\n");
    expect(properties.length).toBeGreaterThan(30);
    expect(properties.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });
});

test("every entry of the package that a page names exists", () => {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { exports: object };
  const entries = Object.keys(exports).map((entry) => entry.replace(".", "offload"));
  const claims = claimsOf(/[`"'](offload\/[a-z]+)[`"']/g, wholeText);
  expect(claims.length).toBeGreaterThan(20);
  expect(claims.filter(({ claim }) => !entries.includes(claim))).toEqual([]);
});

describe("every call in a page's prose exists", () => {
  test("of the client", () => {
    const client = createClient({ url: "http://127.0.0.1:1", key: "none" });
    const claims = claimsOf(/`client\.(\w+)/g, proseOf);
    expect(claims.length).toBeGreaterThan(4);
    expect(claims.filter(({ claim }) => !(claim in client))).toEqual([]);
  });

  test("of the context of a task", () => {
    const declared = readFileSync("src/core/task/context.ts", "utf8");
    /** Types of events and messages, which are written alike. */
    const events = /^(completed|failed|cancelled|expired|processing|progress|pending)$/;
    const claims = claimsOf(/`task\.(\w+)/g, proseOf).filter(({ claim }) => !events.test(claim));
    expect(claims.length).toBeGreaterThan(20);
    expect(claims.filter(({ claim }) => !new RegExp(`^ {2}(?:readonly )?${claim}[(<:?]`, "m").test(declared))).toEqual(
      [],
    );
  });
});
