import { Command, CommanderError } from "commander";
import type { Register } from "./register.ts";
import { Misuse, plain, systemTerminal, type Terminal } from "./terminal.ts";

/** Groups of commands, each in a file of its own that is loaded when the group is named. */
const groups: Record<string, { description: string; load: () => Promise<{ register: Register }> }> = {
  tasks: { description: "look at tasks, retry and cancel them", load: () => import("./tasks.ts") },
  dlq: { description: "look at dead letters, replay and discard them", load: () => import("./dlq.ts") },
  schedules: { description: "make, pause and run schedules, and preview rules", load: () => import("./schedules.ts") },
  trace: { description: "show the spans of a request and its tasks", load: () => import("./trace.ts") },
  smoke: { description: "try a deployment out: probe tasks and their latencies", load: () => import("./smoke.ts") },
  queues: { description: "show how full the queues are; for admins", load: () => import("./queues.ts") },
  keys: { description: "make, list and revoke API keys", load: () => import("./keys.ts") },
  limits: { description: "set and show what tenants may use", load: () => import("./limits.ts") },
  plan: { description: "simulate a load on AWS: waits, limits, costs", load: () => import("./plan.ts") },
  doctor: { description: "review the app before AWS does, and what is deployed", load: () => import("./doctor.ts") },
};

const examples = `
Examples:
  npx offload start                                  everything on this machine
  npx offload tasks list --status failed             where is the trouble?
  npx offload dlq replay --type mail.send --wait     once the cause is mended
`;

/** Runs the command line; gives the exit code: 0 done, 1 failed or refused by the server, 2 not understood. */
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
    .command("start")
    .description("run everything on this machine: API, queues, table, scheduler, workers")
    .option("--ephemeral", "keep nothing", false)
    .option("--trace", "keep the spans of requests and attempts, for `offload trace`", false)
    .action(async (options: { ephemeral: boolean; trace: boolean }) => (await import("./start.ts")).start(options));
  program
    .command("demo")
    .description("start on free ports, make an invoice over HTTP, and stop")
    .action(async () => {
      exitCode = await (await import("./demo.ts")).demo();
    });
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
    terminal.note(`offload: ${plain(error instanceof Error ? error.message : String(error))}`);
    return error instanceof Misuse ? 2 : 1;
  }
}
