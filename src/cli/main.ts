import { Command, CommanderError } from "commander";
import { ProblemError } from "../client/index.ts";
import { packageVersion } from "../installed/installation.ts";
import { TaskFileError } from "../project/task-modules.ts";
import { textOf } from "./client.ts";
import type { Register } from "./register.ts";
import { plain, systemTerminal, type Terminal, UsageError } from "./terminal.ts";

/** Command groups. Each has its own file, which is loaded only when the command line names the group. */
const groups: Record<string, { description: string; hidden?: true; load: () => Promise<{ register: Register }> }> = {
  dev: {
    description: "run the API, queues, table, scheduler and workers on this machine; reload changed task files",
    load: () => import("./dev.ts"),
  },
  start: {
    description: "the same as `dev --no-reload`",
    load: async () => ({ register: (await import("./dev.ts")).registerStart }),
  },
  work: {
    description: "run tasks of container types in a process that stays",
    load: () => import("./work.ts"),
  },
  submit: {
    description: "submit a task, or a task for each line of a file; with --wait print its result",
    load: () => import("./run.ts"),
  },
  run: {
    description: "the same as `submit`; with --bundle run a task on the worker that would be deployed",
    load: async () => ({ register: (await import("./run.ts")).registerRun }),
  },
  upload: { description: "send a file for a task; prints the upload's id", load: () => import("./upload.ts") },
  result: {
    description: "print or save the result of a completed task, of any size",
    load: () => import("./download.ts"),
  },
  acknowledge: {
    description: "delete the result of a completed task when you have saved it",
    load: () => import("./acknowledge.ts"),
  },
  init: { description: "make a project, or add Offload to one", load: () => import("./init.ts") },
  tasks: { description: "list, follow, retry, cancel and extend tasks; their logs", load: () => import("./tasks.ts") },
  dlq: { description: "list, show, replay and discard dead letters", load: () => import("./dlq.ts") },
  types: { description: "list the task types that the API accepts", load: () => import("./types.ts") },
  schedules: {
    description: "create, pause and run schedules; preview rules",
    load: () => import("./schedule-commands.ts"),
  },
  console: { description: "open the console in your browser, signed in", load: () => import("./console.ts") },
  clock: {
    description: "move the clock of a local server: what waits for hours or months happens now",
    load: () => import("./clock.ts"),
  },
  trace: {
    description: "show the spans of a request and its tasks on the local server",
    load: () => import("./trace.ts"),
  },
  smoke: {
    description: "test a deployment: submit probe tasks and measure latencies",
    load: () => import("./smoke.ts"),
  },
  verify: {
    description: "prove a deployment on AWS: delays, schedules, crashes, alarms, logs; writes a report",
    load: () => import("./verify.ts"),
  },
  webhooks: {
    description: "show and rotate the secret of webhooks; list, show and redeliver webhooks",
    load: () => import("./webhooks.ts"),
  },
  receivers: {
    description: "create, show, test and change receivers of webhooks; list and repeat their deliveries",
    load: () => import("./receiver-commands.ts"),
  },
  top: { description: "a live view: queues, what fails, the newest tasks", load: () => import("./top.ts") },
  queues: { description: "show how many messages each queue holds (admins only)", load: () => import("./queues.ts") },
  keys: { description: "create, list and revoke API keys", load: () => import("./keys.ts") },
  limits: { description: "set and show the limits of tenants and tiers", load: () => import("./limits.ts") },
  flow: {
    description: "pause and resume tiers, types and tenants; change limits of types; show what waits for what",
    load: () => import("./flow.ts"),
  },
  admin: {
    description: "tenants, their limits and keys, alarms, over the API (admins only)",
    load: () => import("./admin.ts"),
  },
  deployments: {
    description: "list the newest deployments and their times",
    load: () => import("./deployments.ts"),
  },
  audit: { description: "list what operators and admins changed", load: () => import("./audit.ts") },
  openapi: { description: "write the OpenAPI document of the API", load: () => import("./openapi.ts") },
  plan: { description: "simulate a load on AWS: waiting times, limits, costs", load: () => import("./plan.ts") },
  doctor: { description: "check the app and its deployment for problems", load: () => import("./doctor.ts") },
  docs: {
    description: "print a page of the documentation, or search in it; needs no network",
    load: () => import("./docs.ts"),
  },
  completion: {
    description: "print a script for completion in bash, zsh or fish",
    load: () => import("./completion.ts"),
  },
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
  for (const [name, { description, hidden = false, load }] of Object.entries(groups)) {
    const command = program.command(name, { hidden }).description(description);
    const exit = (code: number) => {
      exitCode = code;
    };
    if (args.includes(name)) (await load()).register(command, terminal, exit);
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
