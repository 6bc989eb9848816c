import type { Answer } from "./answer.ts";
import { context } from "./connection.ts";
import type { Register } from "./group.ts";
import { examples, inputOf, type SubmitOptions, submit, submitting } from "./submit-command.ts";
import { type Terminal, UsageError } from "./terminal.ts";

const onBundle = [
  ["--bundle", "build the worker as for a deployment, run the task on it, and print its result"],
  ["-c, --context <name=value>", "with --bundle: CDK context of the app, such as stage=prod; repeatable", context],
] as const;

const examplesOfRun = `${examples}
With --bundle no server is needed: the worker is built as \`cdk synth\` does, and starts in a folder that has nothing else of your
project, with the environment of Lambda and the values of declared variables and secrets from .env or the shell. It runs the task, and
its log is the error output.

  npx offload run report.make '{"month":11}' --bundle
`;

/** `offload run`: as `submit`, or on the worker that would be deployed */
export const register: Register = (group) => {
  group.help(examplesOfRun).does([...submitting, ...onBundle], (options, type, input) => {
    const { bundle, context: values = {}, ...submitted } = options;
    const given = inputOf(input, options);
    if (bundle) return runOnBundle(group.terminal, type, given, submitted, values);
    if (options.context !== undefined) throw new UsageError("--context needs --bundle");
    return submit(group.terminal, type, given, submitted);
  });
};

async function runOnBundle(
  terminal: Terminal,
  type: string,
  given: string | undefined,
  options: SubmitOptions,
  context: Readonly<Record<string, string>>,
): Promise<Answer | number> {
  const { startOnBundle } = await import("./run-bundle.ts");
  const { url, key, close } = await startOnBundle(terminal, type, context);
  try {
    return await submit(terminal, type, given, { ...options, url, key, wait: true });
  } finally {
    await close();
  }
}
