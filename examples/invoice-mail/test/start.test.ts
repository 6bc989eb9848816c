import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { deployment, folder, removeFolder } from "./system.ts";
import { drawTerminal } from "./terminal.ts";

// A deployment has no `npm start`. Two of them cannot run at once: the mail server has a fixed port.
test.skipIf(deployment !== undefined)(
  "npm start mails the invoices of the orders in the file",
  async () => {
    const ownServer = {
      OFFLOAD_STATE_DIR: join(folder, "started"),
      PORT: "0",
      OFFLOAD_DYNAMODB_PORT: "0",
      OFFLOAD_SQS_PORT: "0",
    };
    const started = spawn("npm", ["start"], { detached: true, env: { ...process.env, ...ownServer } });
    let output = "";
    for (const stream of [started.stdout, started.stderr]) stream.on("data", (text) => (output += text));
    const ended = new Promise((exit) => started.once("exit", exit));
    try {
      await expect.poll(() => output.match(/Mail to .*\n/g), { timeout: 120_000 }).toHaveLength(3);
      await expect.poll(() => output.match(/attempt 1 completed/g), { timeout: 60_000 }).toHaveLength(3);
      expect(output).toContain("3 invoices accepted");
    } catch (error) {
      throw new Error(output, { cause: error });
    } finally {
      process.kill(-(started.pid ?? 0), "SIGINT");
      await ended;
      removeFolder();
    }
    expect(output).toMatch(/Mail to .*ada@example\.com.*: Your invoice 1001, invoice-1001\.pdf with \d+ bytes/);
    const lines = output.split("\n").filter((line) => !/^(>|npm warn)/.test(line) && line.trim() !== "");
    await drawTerminal(["$ npm start", ...lines].join("\n"), "docs/terminal.png");
  },
  240_000,
);
