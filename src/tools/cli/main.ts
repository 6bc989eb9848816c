import { Command, CommanderError } from "commander";
import { ProblemError } from "../../client/index.ts";
import { TaskFileError } from "../../code/project/task-modules.ts";
import { packageVersion } from "../../installed/installation.ts";
import { textOf } from "./connection.ts";
import type { Register } from "./group.ts";
import { plain, systemTerminal, type Terminal, UsageError } from "./terminal.ts";

type Load = () => Promise<{ register: Register }>;

/** Command groups: what they do, and their file, which is loaded only when the command line names the group. */
const groups: Readonly<Record<string, readonly [about: string, load: Load]>> = {
  dev: [
    "run the API, queues, table, scheduler and workers on this machine; reload changed task files",
    () => import("./dev.ts"),
  ],
  start: ["the same as `dev --no-reload`", async () => ({ register: (await import("./dev.ts")).registerStart })],
  work: ["run tasks of container types in a process that stays", () => import("./work-commands.ts")],
  submit: ["submit a task, or a task for each line of a file; with --wait print its result", () => import("./run.ts")],
  run: [
    "the same as `submit`; with --bundle run a task on the worker that would be deployed",
    async () => ({ register: (await import("./run.ts")).registerRun }),
  ],
  upload: ["send a file for a task; prints the upload's id", () => import("./upload.ts")],
  result: ["print or save the result of a completed task, of any size", () => import("./result-commands.ts")],
  acknowledge: [
    "delete the result of a completed task when you have saved it",
    async () => ({ register: (await import("./result-commands.ts")).registerAcknowledge }),
  ],
  init: ["make a project, or add Offload to one", () => import("./init.ts")],
  tasks: ["list, follow, retry, cancel and extend tasks; their logs", () => import("./task-commands.ts")],
  dlq: ["list, show, replay and discard dead letters", () => import("./dlq-commands.ts")],
  types: ["list the task types that the API accepts", () => import("./type-commands.ts")],
  schedules: ["create, pause and run schedules; preview rules", () => import("./schedule-commands.ts")],
  console: ["open the console in your browser, signed in", () => import("./console-commands.ts")],
  clock: [
    "move the clock of a local server: what waits for hours or months happens now",
    () => import("./clock-commands.ts"),
  ],
  trace: ["show the spans of a request and its tasks on the local server", () => import("./trace-commands.ts")],
  smoke: ["test a deployment: submit probe tasks and measure latencies", () => import("./smoke.ts")],
  verify: [
    "prove a deployment on AWS: delays, schedules, crashes, alarms, logs; writes a report",
    () => import("./verify.ts"),
  ],
  webhooks: [
    "show and rotate the secret of webhooks; list, show and redeliver webhooks",
    () => import("./webhook-commands.ts"),
  ],
  receivers: [
    "create, show, test and change receivers of webhooks; list and repeat their deliveries",
    () => import("./receiver-commands.ts"),
  ],
  top: ["a live view: queues, what fails, the newest tasks", () => import("./top.ts")],
  queues: ["show how many messages each queue holds (admins only)", () => import("./queue-commands.ts")],
  keys: ["create, list and revoke API keys", () => import("./key-commands.ts")],
  limits: ["set and show the limits of tenants and tiers", () => import("./limit-commands.ts")],
  flow: [
    "pause and resume tiers, types and tenants; change limits of types; show what waits for what",
    () => import("./flow-commands.ts"),
  ],
  admin: ["tenants, their limits and keys, alarms, over the API (admins only)", () => import("./admin-commands.ts")],
  deployments: ["list the newest deployments and their times", () => import("./deployment-commands.ts")],
  audit: ["list what operators and admins changed", () => import("./audit-commands.ts")],
  openapi: ["write the OpenAPI document of the API", () => import("./openapi.ts")],
  plan: ["simulate a load on AWS: waiting times, limits, costs", () => import("./plan-commands.ts")],
  doctor: ["check the app and its deployment for problems", () => import("./doctor-commands.ts")],
  docs: ["print a page of the documentation, or search in it; needs no network", () => import("./docs.ts")],
  completion: ["print a script for completion in bash, zsh or fish", () => import("./completion.ts")],
};

const examples = `
Examples:
  npx offload dev                                    run everything on this machine
  npx offload submit link.check '{"url":"https://example.com"}' --wait
  npx offload tasks list --status failed             show what failed
  npx offload dlq replay --type mail.send --wait     retry after the cause is fixed
`;

/**
 * Runs the command line. Returns the exit code: 0 success, 1 failed or refused by the server, 2 invalid command line.
 */
export async function run(args: readonly string[], terminal: Terminal = systemTerminal()): Promise<number> {
  let exitCode = 0;
  const program = new Command("offload")
    .description("A task pipeline for your own AWS account.")
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .addHelpText("after", examples);
  for (const [name, [about, load]] of Object.entries(groups)) {
    const command = program.command(name).description(about);
    const exit = (code: number) => {
      exitCode = code;
    };
    if (!args.includes(name)) continue;
    const [{ register }, { Group }] = await Promise.all([load(), import("./group.ts")]);
    register(new Group(command, terminal, exit));
  }
  if (args[0] === "complete") return complete(program, args.slice(2), terminal);
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, terminal);
  }
}

/** Prints an error, with each fault of an input. Returns the exit code. */
function explain(error: unknown, terminal: Terminal): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  terminal.note(`offload: ${error instanceof TaskFileError ? plainLines(error.message) : plain(textOf(error))}`);
  const faults = error instanceof ProblemError && error.errors.length > 1 ? error.errors : [];
  for (const { path, message } of faults) terminal.note(`  ${plain(path) || "/"}: ${plain(message)}`);
  return error instanceof UsageError ? 2 : 1;
}

/** Prints suggestions for a shell, which calls `offload complete -- <words>`. */
async function complete(program: Command, words: readonly string[], terminal: Terminal): Promise<number> {
  const { suggest } = await import("./completion.ts");
  for (const { word, description } of await suggest(program, words)) terminal.out(`${word}\t${description}`);
  return 0;
}

/** The message of a broken task file has its line of code below it. */
const plainLines = (text: string): string => text.trimEnd().split("\n").map(plain).join("\n");
