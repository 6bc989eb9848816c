import { constants } from "node:os";
import { directEnv } from "../../local/server/direct-submit.ts";
import { endProgram, startProgram } from "../../machine/platform.ts";

/** A program of the project, such as its web server, that runs beside the local server. */
export interface Beside {
  /** Asks the program to end. Resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Starts a program with this terminal.
 * @param command its file and its arguments
 * @param ended called with its exit code, once it has ended: 127 for a file that does not exist
 */
export function startBeside(
  [file = "", ...args]: readonly string[],
  env: NodeJS.ProcessEnv,
  ended: (code: number) => void,
): Beside {
  const program = startProgram(file, args, { env, stdio: "inherit" });
  const exited = new Promise<number>((resolve) => {
    program.once("error", (error) => {
      process.stderr.write(`Could not start ${file}: ${error.message}\n`);
      resolve(127);
    });
    program.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? "SIGTERM"]));
  });
  void exited.then(ended);
  return {
    stop: async () => {
      endProgram(program);
      await exited;
    },
  };
}

/**
 * Environment for programs that use the local server: its URL, a key, and the settings of programs that submit
 * directly.
 * @param url URL of the API
 * @param keys the server's keys, as `key:tenant:role` with commas between them; the first one is the program's
 */
export const callersEnv = (url: string, keys: string): Record<string, string> => ({
  ...directEnv(),
  OFFLOAD_URL: url,
  OFFLOAD_KEY: keys.split(":")[0] ?? "",
});
