import { Command, CommanderError, InvalidArgumentError } from "commander";
import { TaskFileError } from "../task-modules.ts";
import { textOf } from "./client.ts";
import type { Register } from "./register.ts";
import type { StartOptions } from "./start.ts";
import { plain, systemTerminal, type Terminal, UsageError } from "./terminal.ts";

/** Command groups. Each has its own file, which is loaded only when the command line names the group. */
const groups: Record<string, { description: string; load: () => Promise<{ register: Register }> }> = {
  init: { description: "make a project, or add Offload to one", load: () => import("./init.ts") },
  tasks: { description: "list, show, retry and cancel tasks", load: () => import("./tasks.ts") },
  dlq: { description: "list, show, replay and discard dead letters", load: () => import("./dlq.ts") },
  schedules: { description: "create, pause and run schedules; preview rules", load: () => import("./schedules.ts") },
  trace: {
    description: "show the spans of a request and its tasks on the local server",
    load: () => import("./trace.ts"),
  },
  smoke: {
    description: "test a deployment: submit probe tasks and measure latencies",
    load: () => import("./smoke.ts"),
  },
  queues: { description: "show how many messages each queue holds (admins only)", load: () => import("./queues.ts") },
  keys: { description: "create, list and revoke API keys", load: () => import("./keys.ts") },
  limits: { description: "set and show the limits of tenants and tiers", load: () => import("./limits.ts") },
  openapi: { description: "write the OpenAPI document of the API", load: () => import("./openapi.ts") },
  plan: { description: "simulate a load on AWS: waiting times, limits, costs", load: () => import("./plan.ts") },
  doctor: { description: "check the app and its deployment for problems", load: () => import("./doctor.ts") },
};

const examples = `
Examples:
  npx offload dev                                    run everything on this machine
  npx offload tasks list --status failed             show what failed
  npx offload dlq replay --type mail.send --wait     retry after the cause is fixed
`;

/** Parses a port that leaves room for the ports of the other tiers. */
function debuggerPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1024 && port <= 65_532) return port;
  throw new InvalidArgumentError("Expected a port from 1024 to 65532.");
}

/** Runs the command line. Returns the exit code: 0 success, 1 failed or refused by the server, 2 invalid command line. */
export async function run(args: readonly string[], terminal: Terminal = systemTerminal()): Promise<number> {
  let exitCode = 0;
  const program = new Command("offload")
    .description("A task pipeline for your own AWS account.")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .addHelpText("after", examples);
  program
    .command("dev")
    .description("run the API, queues, table, scheduler and workers on this machine; reload changed task files")
    .option("--ephemeral", "do not save any data", false)
    .option("--trace", "save the spans of requests and attempts for `offload trace`", false)
    .option("--no-reload", "do not reload changed task files")
    .option(
      "--inspect [port]",
      "let a debugger attach to the workers, one in each tier; default port: 9229",
      debuggerPort,
    )
    .action(async ({ inspect, ...options }: Omit<StartOptions, "inspect"> & { inspect?: number | true }) => {
      const port = inspect === true ? 9229 : inspect;
      await (await import("./start.ts")).start({ ...options, ...(port !== undefined && { inspect: port }) });
    });
  program
    .command("start")
    .description("the same as `dev --no-reload`")
    .option("--ephemeral", "do not save any data", false)
    .option("--trace", "save the spans of requests and attempts for `offload trace`", false)
    .action(async (options: StartOptions) => (await import("./start.ts")).start(options));
  for (const [name, { description, load }] of Object.entries(groups)) {
    const command = program.command(name).description(description);
    const exit = (code: number) => {
      exitCode = code;
    };
    if (args.includes(name)) (await load()).register(command, terminal, exit);
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    terminal.note(`offload: ${error instanceof TaskFileError ? plainLines(error.message) : plain(textOf(error))}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** The message of a broken task file has its line of code below it. */
const plainLines = (text: string): string => text.trimEnd().split("\n").map(plain).join("\n");
