import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createClient } from "offload/client";
import { startLocalServer } from "offload/testing";
import { afterAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "offload-beside-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Starts the local server with a program beside it. */
function dev(...program: string[]) {
  const env = { ...process.env, PORT: "0", OFFLOAD_DYNAMODB_PORT: "0", OFFLOAD_SQS_PORT: "0" };
  const args = [resolve("bin/offload.js"), "dev", "--ephemeral", "--", ...program];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output, ended: once(child, "exit") };
}

describe("a program beside the local server", () => {
  test("it can submit with the URL and the key in its environment, and Offload's port is not its own", async () => {
    const file = join(folder, "asks.mjs");
    writeFileSync(
      file,
      `const { OFFLOAD_URL, OFFLOAD_KEY, PORT = "none" } = process.env;
       const answer = await fetch(OFFLOAD_URL + "/tasks", {
         method: "POST",
         headers: { authorization: "Bearer " + OFFLOAD_KEY, "content-type": "application/json" },
         body: JSON.stringify({ type: "probe.echo", input: { value: 1 } }),
       });
       console.log("answer", answer.status, "port", PORT);`,
    );
    const { ended, output } = dev(process.execPath, file);
    expect(await ended).toEqual([0, null]);
    expect(output()).toContain("answer 202 port none");
  });

  test.each([
    ["its exit code becomes that of the command", ["sh", "-c", "exit 3"], 3, "Stopping."],
    [
      "a program that does not exist ends the server with 127",
      ["no-such-program"],
      127,
      "Could not start no-such-program",
    ],
    ["a signal that ends it becomes 128 and the signal's number", ["sh", "-c", "kill -9 $$"], 137, "Stopping."],
  ])("%s", async (_, program, code, text) => {
    const { ended, output } = dev(...program);
    expect(await ended).toEqual([code, null]);
    expect(output()).toContain(text);
  });

  test("the program ends before the server, when the server is stopped", async () => {
    const file = join(folder, "waits.mjs");
    writeFileSync(
      file,
      `process.on("SIGTERM", async () => {
         const { status } = await fetch(process.env.OFFLOAD_URL + "/health");
         console.log("health at the end", status);
         process.exit(0);
       });
       setInterval(() => {}, 1000);
       console.log("waits");`,
    );
    const { child, ended, output } = dev(process.execPath, file);
    await expect.poll(output, { timeout: 300_000, interval: 250 }).toContain("waits");
    child.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(output()).toContain("health at the end 200");
  });
});

describe("startLocalServer", () => {
  const settings = { OFFLOAD_TIME_SCALE: "0.01" };

  test("a server whose folder is kept has its tasks again after it was killed", async () => {
    const stateFolder = join(folder, "state");
    const first = await startLocalServer({ stateFolder, env: settings });
    const task = await createClient({ url: first.url, key: first.env.OFFLOAD_KEY ?? "" }).submit("probe.echo", {
      value: 7,
    });
    await first.kill();
    const second = await startLocalServer({ stateFolder, env: settings });
    try {
      const client = createClient({ url: second.url, key: second.env.OFFLOAD_KEY ?? "" });
      expect(await client.result(task)).toEqual({ value: 7 });
      expect(second.output()).toContain("Offload is running");
    } finally {
      await second.stop();
    }
    await second.stop();
  });

  test("a server that cannot start says why", async () => {
    await expect(startLocalServer({ env: { OFFLOAD_TIME_SCALE: "nonsense" } })).rejects.toThrow(
      /ended at its start[\s\S]*OFFLOAD_TIME_SCALE=nonsense/,
    );
  });
});
