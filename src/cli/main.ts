import { Command, CommanderError } from "commander";

/** Runs the command line; gives the exit code: 0 done, 1 failed, 2 not understood. */
export async function run(args: readonly string[]): Promise<number> {
  const program = new Command("offload").description("A task pipeline for your own AWS account.").exitOverride();
  let exitCode = 0;
  program
    .command("start")
    .description("run everything on this machine: API, queues, table, scheduler, workers")
    .option("--ephemeral", "keep nothing", false)
    .action(async (options: { ephemeral: boolean }) => (await import("./start.ts")).start(options));
  program
    .command("demo")
    .description("start on free ports, make an invoice over HTTP, and stop")
    .action(async () => {
      exitCode = await (await import("./demo.ts")).demo();
    });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`offload: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
