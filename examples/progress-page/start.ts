import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { createBackend } from "./backend.ts";

/** Key of the backend. The page never gets it. */
const key = "progress-page";
const port = Number(process.env.PORT ?? 4000);

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const offload = fork(here("../../bin/offload.js"), ["start", "--ephemeral"], {
  env: {
    ...process.env,
    PORT: "0",
    OFFLOAD_DYNAMODB_PORT: "0",
    OFFLOAD_SQS_PORT: "0",
    OFFLOAD_TASKS: here("tasks"),
    OFFLOAD_KEYS: `${key}:shop:submitter`,
  },
  stdio: ["ignore", "ignore", "inherit", "ipc"],
});
offload.on("exit", (code) => process.exit(code ?? 1));
const [{ url }] = (await once(offload, "message")) as [{ url: string }];
createServer(createBackend({ url, key })).listen(port, "127.0.0.1", () => {
  console.log(`Open http://127.0.0.1:${port} and make a report. Press Ctrl-C to stop.`);
});
