import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import {
  defaultKeys,
  defaultOf,
  flagOf,
  localSettings,
  readLocalSettings,
  type Variable,
} from "../../src/local/deployment/settings.ts";
import { run } from "../../src/tools/cli/main.ts";
import { quietTerminal } from "../support/quiet-terminal.ts";

const variables = Object.keys(localSettings) as Variable[];

test("a flag wins over its variable, which wins over the default", () => {
  const env = { PORT: "4000", OFFLOAD_SQS_PORT: "4001" };
  expect(readLocalSettings(env, false, { PORT: "5000" })).toMatchObject({
    port: 5000,
    sqsPort: 4001,
    dynamodbPort: 8000,
  });
});

test("an empty variable counts as not set, and an empty flag is wrong", () => {
  expect(readLocalSettings({ PORT: "" }, false)).toMatchObject({ port: 3000 });
  expect(() => readLocalSettings({}, false, { PORT: "" })).toThrow(/^--port: expected a value$/);
});

test.each<[NodeJS.ProcessEnv, Partial<Record<Variable, string>>, string]>([
  [{ PORT: "x" }, {}, "PORT=x: expected a whole number from 0 to 65535"],
  [{ PORT: "x" }, { PORT: "70000" }, "--port 70000: expected a whole number from 0 to 65535"],
  [{}, { OFFLOAD_TIME_SCALE: "0" }, "--time-scale 0: expected a number above 0 and up to 1000"],
  [{ OFFLOAD_PROBES: "yes" }, {}, "OFFLOAD_PROBES=yes: expected 0 or 1"],
  [{}, { OFFLOAD_LIMITS: "{" }, "--limits {: expected a JSON object"],
])("%j with the flags %j is refused in one line", (env, flags, message) => {
  expect(() => readLocalSettings(env, false, flags)).toThrow(new Error(message));
});

test("the message about wrong keys never shows them", () => {
  const expected =
    /^(--keys|OFFLOAD_KEYS): expected token:tenant:role, where role is one of [a-z, ]+, or token:tenant:viewer:inputs; entry 2 is different$/;
  const keys = "secret:acme:operator,secret:acme";
  expect(() => readLocalSettings({ OFFLOAD_KEYS: keys }, false)).toThrow(expected);
  expect(() => readLocalSettings({}, false, { OFFLOAD_KEYS: keys })).toThrow(expected);
});

describe("the command line", () => {
  /** Runs the command in a process of its own until it ends. */
  async function ended(...args: string[]) {
    const env = { ...process.env, PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
    const child = spawn(process.execPath, ["bin/offload.js", ...args], { env });
    let notes = "";
    child.stderr.on("data", (data) => {
      notes += data;
    });
    const code = await new Promise((resolve) => child.on("close", resolve));
    return { code, notes };
  }

  test("a wrong flag is one line, with exit code 2", async () => {
    expect(await ended("dev", "--ephemeral", "--sqs-port", "abc")).toEqual({
      code: 2,
      notes: "offload: --sqs-port abc: expected a whole number from 0 to 65535\n",
    });
  });

  test("a port in use names its flag and its variable", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { code, notes } = await ended("start", "--ephemeral", "--port", `${port}`);
    await new Promise((resolve) => server.close(resolve));
    expect({ code, notes }).toEqual({
      code: 1,
      notes: `offload: Port ${port} is in use. Set --port (PORT) to a free port, or to 0.\n`,
    });
  });

  test.each(["dev", "start"])("%s has a flag for every setting", async (command) => {
    let help = "";
    const out = (line: string) => {
      help += `${line}\n`;
    };
    expect(await run([command, "--help"], { ...quietTerminal, out })).toBe(0);
    for (const variable of variables) {
      expect(help).toMatch(new RegExp(`^ +${flagOf(variable)}[\\s\\S]*?variable:\\s+${variable}`, "m"));
    }
    expect(help).not.toContain(defaultKeys.slice(0, 20));
  });
});

test("the table in docs/develop.md has every setting, with its flag, default and meaning", () => {
  const shownDefault: Partial<Record<Variable, string>> = {
    OFFLOAD_KEYS: "the four keys above",
    OFFLOAD_LIMITS: "none",
    OFFLOAD_CALLBACK_HOSTS: "none",
    OFFLOAD_SPANS_FILE: "`spans.jsonl` in the state's folder",
  };
  const word = (text: string) => (/^\d+$/.test(text) ? text : `\`${text}\``);
  const rows = variables.map((variable) => {
    const { flag, meaning } = localSettings[variable];
    const value = shownDefault[variable] ?? word(defaultOf(variable) ?? "");
    return `| \`${flag}\` | \`${variable}\` | ${value} | ${meaning} |`;
  });
  const page = readFileSync("docs/develop.md", "utf8").split("\n");
  expect(page.filter((line) => /^\| `--.*\| `(PORT|OFFLOAD_\w+)` \|/.test(line))).toEqual(rows);
});
