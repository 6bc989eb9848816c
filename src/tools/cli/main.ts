import { type Groups, runGroups } from "./program.ts";
import { systemTerminal, type Terminal } from "./terminal.ts";

/** Command groups: what they do, and their file, which is loaded only when the command line names the group. */
const groups: Groups = {
  dev: [
    "run the API, queues, table, scheduler and workers on this machine; reload changed task files",
    () => import("./dev.ts"),
  ],
  start: ["the same as `dev --no-reload`", async () => ({ register: (await import("./dev.ts")).registerStart })],
  work: ["run tasks of container types in a process that stays", () => import("./work-commands.ts")],
  submit: [
    "submit a task, or a task for each line of a file; with --wait print its result",
    () => import("./submit-command.ts"),
  ],
  run: [
    "the same as `submit`; with --bundle run a task on the worker that would be deployed",
    () => import("./run.ts"),
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

/** Runs the command line, and returns its exit code. */
export const run = (args: readonly string[], terminal: Terminal = systemTerminal()): Promise<number> =>
  runGroups(groups, args, terminal);
