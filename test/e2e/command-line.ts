import { expect } from "vitest";
import { run } from "../../src/tools/cli/main.ts";
import { Client } from "../support/http-client.ts";
import { quietTerminal } from "../support/quiet-terminal.ts";

// `npx offload` in this process, as an operator of the deployment under test.

const baseUrl = process.env.OFFLOAD_URL ?? "";

/** A deployed stack, rather than a local server: its table is named by `OFFLOAD_TABLE`. */
export const deployed = process.env.OFFLOAD_E2E_QUEUES !== undefined;

/** What a command wrote, and its exit code. */
export interface Ran {
  code: number;
  out: string;
  notes: string;
}

/**
 * A command that works on a deployment's table.
 * @param url Another local server than the one under test.
 */
export const offload = (args: readonly string[], url = baseUrl): Promise<Ran> =>
  offloadAnywhere([...args, ...(deployed && url === baseUrl ? [] : ["--local", "--url", url])]);

/** A command with its own idea of where it works. */
export async function offloadAnywhere(args: readonly string[]): Promise<Ran> {
  const ran = { code: 0, out: "", notes: "" };
  ran.code = await run(args, {
    ...quietTerminal,
    out: (line) => {
      ran.out += `${line}\n`;
    },
    note: (line) => {
      ran.notes += `${line}\n`;
    },
  });
  return ran;
}

/** Makes a key by the command line, and gives a client that has it. */
export const createKey = (tenant: string, role: string, ...more: string[]) =>
  createKeyAt(baseUrl, tenant, role, ...more);

/** The same for another local server than the one under test. */
export async function createKeyAt(url: string, tenant: string, role: string, ...more: string[]) {
  const ran = await offload(["keys", "create", "--tenant", tenant, "--role", role, ...more], url);
  expect(ran).toMatchObject({ code: 0, out: expect.stringMatching(/^ofl_[a-z0-9]{16}_[A-Za-z0-9_-]{43}\n$/) });
  const token = ran.out.trim();
  return { token, keyId: token.split("_")[1] ?? "", client: new Client(url, { token, tenant, role }) };
}
