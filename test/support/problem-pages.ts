import { classify } from "../../src/core/model/classify.ts";
import { type ErrorKind, errorKinds } from "../../src/core/model/errors.ts";
import { type ProblemCode, problemCodes } from "../../src/core/model/problem.ts";
import { decideRetry } from "../../src/core/task/retry.ts";
import { kindTexts } from "./kind-texts.ts";
import { problemTexts } from "./problem-texts.ts";

/* The pages of the API's problems and of the kinds of failures: an overview of each list, and a page for each entry. */

/** A route that answers with a problem, as a link to its section. */
export interface AnsweringRoute {
  codes: readonly string[];
  link: string;
}

const code = (text: unknown): string => `\`${text}\``;
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
const list = (lines: readonly string[]): string => lines.map((line) => `- ${line}`).join("\n");
const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

const written = "<!-- Written by `npm run docs:http` from the lists in the code. Do not edit. -->";

const correlationId = "5f0c1c64-1b1e-4b2b-8a1e-3a1d6f1d2c11";

/** A longer list of routes says nothing. */
const mostRoutes = 15;

function whereFrom(name: ProblemCode, routes: readonly AnsweringRoute[]): string {
  const answering = routes.filter(({ codes }) => codes.includes(name));
  if (answering.length === 0) return "The gateway answers so, for every route.";
  if (answering.length > mostRoutes)
    return `${answering.length} of the ${routes.length} routes of the [HTTP API](../api.md) answer so.`;
  return `These routes answer so:\n\n${list(answering.map(({ link }) => link))}`;
}

function problemPage(name: ProblemCode, routes: readonly AnsweringRoute[]): string[] {
  const { status, title } = problemCodes[name];
  const { meaning, causes, cure, members, headers } = problemTexts[name];
  const type = `urn:offload:error:${name}`;
  const detail = causes[0]?.[0];
  return [
    `# ${code(name)}: ${status} ${title}`,
    written,
    `${capital(meaning)}.`,
    json({
      type,
      code: name,
      title,
      status,
      detail,
      ...members,
      correlation_id: correlationId,
    }),
    ...(headers === undefined ? [] : [`The answer has the header ${headers.map(code).join(", ")}.`]),
    "## Cause",
    table(
      ["`detail`, such as", "cause"],
      causes.map(([text, cause]) => [code(text.replaceAll("`", "'")), cause]),
    ),
    "## What to do",
    list(cure),
    "## Where it comes from",
    whereFrom(name, routes),
    `${code(`npx offload docs ${type}`)} prints this page. [All problems](../problems.md) are one table.`,
  ];
}

const problemNames = Object.keys(problemCodes) as ProblemCode[];

const problemsPage = (): string[] => [
  "# Problems: what the API refuses",
  written,
  "A program reads `code`, not `detail`:",
  json({
    type: "urn:offload:error:conflict",
    code: "conflict",
    title: problemCodes.conflict.title,
    status: problemCodes.conflict.status,
    detail: problemTexts.conflict.causes[0]?.[0],
    correlation_id: correlationId,
  }),
  table(
    ["status", "code", "meaning"],
    problemNames.map((name) => [
      String(problemCodes[name].status),
      `[${code(name)}](problems/${name}.md)`,
      problemTexts[name].meaning,
    ]),
  ),
  "`type` of a problem is the name of its page: `npx offload docs urn:offload:error:conflict` prints the one of `conflict`.",
  "## Answers of API Gateway itself",
  'Above its rate limit (429), above 10 MB (413) and without an answer of a function (500, 503) the body is `{ "message": "..." }`.',
  "## Faults of an input",
  "With `invalid_input`, `errors` names each fault: `path` is a JSON pointer into the request, `message` says what was expected. [Problem](api-objects.md#problem) has all members.",
];

/** The word of the overview's table, as a type without a policy of its own has it. */
function isRetried(kind: ErrorKind): string {
  const failure = { kind, attempt: 1, maxAttempts: 5, earlierOfKind: 0 };
  return decideRetry({}, failure, () => 0).retry ? "yes" : "no";
}

/** A line that throws compiles with these. */
function beforeThrow(thrown: string): string {
  const [, name = ""] = /new (\w+)\(/.exec(thrown) ?? [];
  if (name === "Error") return "";
  return name === "" ? "declare const response: Response;\n\n" : `import { ${name} } from "offload";\n\n`;
}

function kindPage(kind: ErrorKind): string[] {
  const { follows, causes, cure, code: thrown } = kindTexts[kind];
  const failures = causes.map(([cause, thrown]) => ({
    cause,
    failure: "kind" in thrown && "type" in thrown ? thrown : classify(thrown, [], 0),
  }));
  const other = failures.find(({ failure }) => failure.kind !== kind);
  if (other !== undefined) throw new Error(`the example of ${kind} "${other.cause}" is ${other.failure.kind}`);
  const [first] = failures;
  if (first === undefined) throw new Error(`expected a cause of ${kind}`);
  const { failure } = first;
  return [
    `# ${code(kind)}: a kind of failure`,
    written,
    follows,
    json({ status: "failed", error: failure.message, error_type: failure.type, error_kind: kind }),
    "## Cause",
    table(
      ["what happened", "`error_type`", "`error`, such as"],
      failures.map(({ cause, failure: { type, message } }) => [
        cause,
        code(type),
        code(message.replaceAll(/[\s`]+/g, " ")),
      ]),
    ),
    ...(thrown === undefined ? [] : ["A handler makes it:", `\`\`\`ts\n${beforeThrow(thrown)}${thrown}\n\`\`\``]),
    "## What to do",
    list(cure),
    "## Find these tasks",
    `\`\`\`sh\nnpx offload tasks attempts $TASK_ID                # each attempt with its kind\nnpx offload dlq list --error-kind ${kind}\n\`\`\``,
    "[All kinds](../error-kinds.md) are one table.",
  ];
}

const kindsPage = (): string[] => [
  "# Error kinds of a task",
  written,
  "`error_kind` of a task or an attempt says what kind of failure it was, and so what follows. [Errors and retries](errors.md) says how a handler chooses.",
  "```sh\nnpx offload tasks attempts $TASK_ID          # each attempt with its kind\nnpx offload dlq groups                       # what failed for good, by type, kind and error\nnpx offload tasks list --status failed\n```",
  table(
    ["kind", "retried", "look first at"],
    errorKinds.map((kind) => [`[${code(kind)}](error-kinds/${kind}.md)`, isRetried(kind), kindTexts[kind].first]),
  ),
];

/** Paths below `docs`, without `.md`, with the paragraphs of each page. */
export const problemPages = (routes: readonly AnsweringRoute[]): [page: string, paragraphs: string[]][] => [
  ["problems", problemsPage()],
  ...problemNames.map((name): [string, string[]] => [`problems/${name}`, problemPage(name, routes)]),
  ["error-kinds", kindsPage()],
  ...errorKinds.map((kind): [string, string[]] => [`error-kinds/${kind}`, kindPage(kind)]),
];
