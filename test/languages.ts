import { spawnSync } from "node:child_process";
import { createServer } from "node:net";
import { startOwnServer } from "./support/local-server.ts";

/*
 * Runs clients in other languages against a local server: submit and poll, integers, files in both directions with their SHA-256, a webhook with its
 * signature. `npm run test:languages`. A language that is not on this machine is named loudly, and left out.
 */

const programs = [
  { language: "Python", has: ["python3", "--version"], run: ["python3", "test/languages/client.py"] },
  { language: "Go", has: ["go", "version"], run: ["go", "run", "test/languages/client.go"] },
] as const;

const start = ([command, ...args]: readonly [string, ...string[]], env = {}, stdio: "inherit" | "ignore" = "inherit") =>
  spawnSync(command, args, { stdio, env: { ...process.env, ...env }, timeout: 300_000 }).status === 0;

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

async function main(): Promise<number> {
  const receiverPort = await freePort();
  const server = await startOwnServer({ OFFLOAD_CALLBACK_HOSTS: `127.0.0.1:${receiverPort}` });
  const env = { OFFLOAD_URL: server.url, OFFLOAD_KEY: "dev-acme", RECEIVER_PORT: String(receiverPort) };
  let failed = 0;
  try {
    for (const { language, has, run } of programs) {
      if (!start(has, {}, "ignore")) {
        console.log(`\n!!! ${language.toUpperCase()} IS NOT ON THIS MACHINE: ITS CLIENT WAS NOT RUN !!!\n`);
        continue;
      }
      const passed = start(run, env);
      console.log(`${language}: ${passed ? "passed" : "FAILED"}`);
      if (!passed) failed += 1;
    }
  } finally {
    await server.stop();
  }
  return failed;
}

process.exitCode = await main();
