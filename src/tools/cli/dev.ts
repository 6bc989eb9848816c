import { type Command, InvalidArgumentError } from "commander";
import { useLocalClients } from "../../installed/registration.ts";
import { defaultOf, type Given, localSettings, type Variable } from "../../local/deployment/settings.ts";
import type { Register } from "./group.ts";
import type { Given as Flag } from "./options.ts";

const help = `
A flag wins over its environment variable.

Examples:
  npx offload dev --port 4000 --dynamodb-port 0 --sqs-port 0
  npx offload dev --ephemeral --time-scale 0.01
  npx offload dev -- node server.ts          runs your web server beside it, with OFFLOAD_URL and OFFLOAD_KEY
`;

/** A flag for each setting of the local server. */
const settings = (Object.keys(localSettings) as Variable[]).map((variable): Flag => {
  const { flag, meaning, stands } = localSettings[variable];
  const initial = stands === undefined && variable !== "OFFLOAD_KEYS" ? defaultOf(variable) : undefined;
  const shown = [...(initial ? [`default: ${initial}`] : []), `variable: ${variable}`].join(", ");
  return [flag, `${meaning} (${shown})`];
});

const starting = [
  ["[program...]", "a program that runs beside the server, after `--`; when it ends, the server ends"],
  ["--ephemeral", "do not save any data", { initial: false }],
  ...settings,
] as const;

/** `offload start` */
export const registerStart: Register = (group) => {
  group.help(help).does(starting, async ({ ephemeral }, beside) => {
    const { start } = await server();
    await start({ ephemeral, beside, flags: flagsOf(group.command) });
  });
};

const reloading = [
  ...starting,
  ["--no-reload", "do not reload changed task files"],
  ["--inspect [port]", "let a debugger attach to the workers, one in each tier; default port: 9229", debuggerPort],
] as const;

/** `offload dev` */
export const register: Register = (group) => {
  group.help(help).does(reloading, async ({ inspect, ephemeral, reload = true }, beside) => {
    // Commander gives true for the option without a port.
    const port = (inspect as number | true | undefined) === true ? 9229 : inspect;
    const { start } = await server();
    const flags = flagsOf(group.command);
    await start({ ephemeral, reload, beside, flags, ...(port !== undefined && { inspect: port }) });
  });
};

/** The server, with the clients that functions have: they take a quarter of the SDK's time for a call. */
function server(): Promise<typeof import("./start-server.ts")> {
  useLocalClients();
  return import("./start-server.ts");
}

/** The settings that the command line gives, by their variables. */
function flagsOf(command: Command): Given {
  const flags: Given = {};
  for (const option of command.options) {
    const variable = (Object.keys(localSettings) as Variable[]).find(
      (name) => localSettings[name].flag === option.flags,
    );
    const name = option.attributeName();
    if (variable === undefined || command.getOptionValueSource(name) !== "cli") continue;
    flags[variable] = localSettings[variable].stands ?? command.getOptionValue(name);
  }
  return flags;
}

/** Parses a port that leaves room for the ports of the other tiers. */
function debuggerPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1024 && port <= 65_532) return port;
  throw new InvalidArgumentError("Expected a port from 1024 to 65532.");
}
