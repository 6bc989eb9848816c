import type { Command } from "commander";
import { deployedWorkerEnvironment } from "../../aws/deployed-worker.ts";
import { loadApp } from "../../code/describe/load-app.ts";
import { readDotEnv, workerEnvironment } from "../../code/describe/worker-environment.ts";
import { tasksFolder } from "../../code/project/task-folder.ts";
import { workPath } from "../../local/server/local-routes.ts";
import { followServer } from "../../local/time/follow-server.ts";
import { follow } from "../../local/time/followers.ts";
import { movedMs, movedVariable, useMovedTime } from "../../local/time/moved-time.ts";
import { forkContainerProcess } from "../../local/workers/container-worker.ts";
import { codeVariable } from "../../local/workers/local-code.ts";
import { variablesOf } from "../../settings/config.ts";
import type { Role } from "../../work/messages.ts";
import { variableOf, type WorkSettings, workSettings } from "../../work/settings.ts";
import { supervise } from "../../work/supervise.ts";
import { localUrl } from "./connection.ts";
import type { Register } from "./group.ts";
import type { Given, Options } from "./options.ts";
import { CommandFailed, type Terminal, UsageError } from "./terminal.ts";

const help = `
Runs tasks whose type has runsOn: "container", in strict priority, until you stop it. After the first Ctrl-C or SIGTERM it starts no task
any more, and gives back the attempts that still run after the drain time: they are not counted. The second one ends it at once.

Without --table it works for the local server. With --table (the stack output TableName) it works for a deployment, with your AWS
credentials. In a container that has the settings of the worker functions in its environment it needs neither. The task types are those
of the folder tasks/.

Exit codes: 0 it was stopped and every attempt has ended or is given back; 1 it could not start, or attempts are lost; 2 invalid
command line; 130 and 143 a second signal.

Examples:
  npx offload work
  npx offload work --concurrency 16 --tiers critical,high
  npx offload work --table my-table --health-port 8080 --memory 1500
`;

/** The options with settings of `src/work/settings.ts`. */
const flags: readonly { flag: string; setting: keyof WorkSettings; meaning: string }[] = [
  { flag: "--concurrency <n>", setting: "concurrency", meaning: "attempts at the same time, 1 to 1000 (default: 4)" },
  { flag: "--tiers <list>", setting: "tiers", meaning: "tiers, separated by commas (default: all)" },
  {
    flag: "--drain-seconds <n>",
    setting: "drainSeconds",
    meaning: "time for running attempts after the first signal (default: 30)",
  },
  { flag: "--memory <MB>", setting: "memoryMb", meaning: "heap of each of its processes (default: that of Node)" },
  { flag: "--health-port <n>", setting: "healthPort", meaning: "port of health answers (default: none)" },
];

const given = [
  ...flags.map(({ flag, setting, meaning }): Given => [flag, meaning, { env: variableOf(setting) }]),
  ["--table <name>", "name of the deployment's table", { env: "OFFLOAD_TABLE" }],
  ["--local", "work for the local server, even if --table or OFFLOAD_TABLE is set"],
  ["--url <url>", "URL of the local server", { env: "OFFLOAD_URL", initial: localUrl }],
  ["--tasks <folder>", "folder of the task types", { env: "OFFLOAD_TASKS", initial: "tasks" }],
] as const;

type WorkOptions = Options<typeof given>;

/** `offload work` */
export const register: Register = (group) => {
  group.help(help).does(given, async (options) => {
    const settings = settingsOf(group.command);
    const env = await environmentOf(options);
    process.env.OFFLOAD_LOG ??= env.OFFLOAD_LOG;
    process.env.OFFLOAD_TASKS = options.tasks;
    using built = await builtTypes(env, group.terminal);
    const all = { ...built.env, ...env };
    return env[movedVariable] === undefined ? await runDeployed(settings, all) : await runLocal(settings, all, options);
  });
};

const runDeployed = (settings: WorkSettings, env: Record<string, string>): Promise<number> =>
  supervise(settings, (role) => forkContainerProcess(role, env, settings));

/** Runs the worker at the time of the local server, whose clock may be moved. */
async function runLocal(settings: WorkSettings, env: Record<string, string>, { url }: WorkOptions): Promise<number> {
  useMovedTime(Number(env[movedVariable]));
  const ended = new AbortController();
  const fork = (role: Role) =>
    follow(forkContainerProcess(role, { ...env, [movedVariable]: String(movedMs()) }, settings));
  let following: Promise<void> | undefined;
  const exitCode = await supervise(settings, fork, (supervisor) => {
    following = followServer(url, () => supervisor.state.running > 0, ended.signal);
  });
  ended.abort();
  await following;
  return exitCode;
}

/** @throws UsageError that names the flag or variable */
function settingsOf(command: Command): WorkSettings {
  for (const { flag, setting } of flags) {
    const option = command.options.find(({ flags }) => flags === flag);
    const value = option && command.getOptionValue(option.attributeName());
    if (value !== undefined) process.env[variableOf(setting)] = String(value);
  }
  try {
    return workSettings(process.env);
  } catch (error) {
    const { message } = error as Error;
    const wrong = flags.find(({ setting }) => message.startsWith(`${variableOf(setting)}:`));
    const name = wrong?.flag.split(" ")[0];
    throw new UsageError(
      wrong === undefined ? message : message.replace(/^\w+/, (variable) => `${name} or ${variable}`),
    );
  }
}

/** The settings of the deployment, or of the local server. Empty: this process's own environment has them. */
async function environmentOf({ table, local, url }: WorkOptions): Promise<Record<string, string>> {
  const queues = variablesOf(["containerQueueUrls"])[0] ?? "";
  if (local !== true && process.env[queues] !== undefined) return {};
  if (local === true || table === undefined || table === "") return localEnvironment(url);
  const found = await deployedWorkerEnvironment(table);
  if (found === undefined) {
    throw new CommandFailed(
      `no worker function of a deployment with the table ${table} was found; check its name and the region`,
    );
  }
  if (found[queues] === undefined) {
    throw new CommandFailed(
      `the deployment with the table ${table} has no queues for container workers; set \`containers\` on the TaskPipeline`,
    );
  }
  return found;
}

async function localEnvironment(url: string): Promise<Record<string, string>> {
  const answer = await fetch(new URL(workPath, url)).catch(() => undefined);
  if (answer?.ok) return (await answer.json()) as Record<string, string>;
  const why = answer === undefined ? "no local server answers" : "a server other than Offload's local server answers";
  throw new CommandFailed(
    `${why} at ${url}; run \`npx offload dev --container-concurrency 0\`, or name a deployment's table with --table or OFFLOAD_TABLE`,
  );
}

/**
 * Builds the task types, and reads the variables that handlers declare from the shell or `.env`.
 * @throws TaskFileError; CommandFailed when no type runs in containers
 */
async function builtTypes(
  env: Record<string, string>,
  terminal: Terminal,
): Promise<Disposable & { env: Record<string, string> }> {
  const probes = (env.OFFLOAD_PROBES ?? process.env.OFFLOAD_PROBES) === "1";
  const { code, app, problems } = await loadApp(tasksFolder(), probes);
  for (const { message } of problems) terminal.note(`Not loaded, the other types run: ${message}`);
  if (!app.types.some(({ runsOn }) => runsOn === "container")) {
    code[Symbol.dispose]();
    throw new CommandFailed('no task type has runsOn: "container", so there is nothing to work on');
  }
  const { values } = workerEnvironment(app.environment, process.env, readDotEnv());
  return { env: { ...values, [codeVariable]: code.file }, [Symbol.dispose]: () => code[Symbol.dispose]() };
}
