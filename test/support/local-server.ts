import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { startServerOf, type TestServer } from "../../src/installed/test-server.ts";
import { receiverHost } from "./receiver.ts";

/** Factor of the waits between attempts: 30 s become 0.3 s. */
const timeScale = "0.01";

/** A local server in a process of its own. */
export type OwnServer = Pick<TestServer, "url" | "output" | "stop" | "kill">;

/**
 * Starts an Offload for the black-box suites to test: the one that `OFFLOAD_URL` names, else a local server of their own, on
 * free ports, that keeps nothing.
 * @returns a function that stops it
 */
export default async function startSuiteServer(): Promise<(() => Promise<void>) | undefined> {
  if (process.env.OFFLOAD_URL) return undefined;
  const server = await startOwnServer({ OFFLOAD_CALLBACK_HOSTS: receiverHost });
  process.env.OFFLOAD_URL = server.url;
  process.env.OFFLOAD_TIME_SCALE = timeScale;
  return () => server.stop();
}

/**
 * Starts a local server on free ports that keeps nothing, unless a setting names its folder, and has short retry waits.
 * @param settings its further environment
 * @param cwd the project's folder, with a release of its own or without. Default: this one
 * @param command the command that starts it. Default: `start`
 */
export function startOwnServer(
  settings: Record<string, string>,
  cwd = ".",
  command: readonly string[] = ["start"],
): Promise<OwnServer> {
  const { OFFLOAD_STATE_DIR: stateFolder, ...others } = settings;
  const own = join(cwd, "bin/offload.js");
  return startServerOf(resolve(existsSync(own) ? own : "bin/offload.js"), {
    folder: cwd,
    command,
    env: { OFFLOAD_TIME_SCALE: timeScale, ...otherEngine(), ...others },
    ...(stateFolder !== undefined && { stateFolder }),
  });
}

/** Another DynamoDB than the server's own, where a test run names one. */
function otherEngine(): Record<string, string> {
  if (process.env.OFFLOAD_TEST_DYNAMODB === undefined) return {};
  return { NODE_OPTIONS: `--import=${new URL("other-table.ts", import.meta.url)}` };
}
