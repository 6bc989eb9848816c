import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { CloudAssembly } from "aws-cdk-lib/cx-api";
import { delimiter, dirname, join, ownPaths } from "../src/machine/paths.ts";
import type { Stack } from "../src/tools/doctor/deployment.ts";

/**
 * Reads the stacks of a cloud assembly, including those of its stages.
 * @throws Error when the folder is not a cloud assembly, or cannot be read
 */
export function readAssembly(folder: string): Stack[] {
  if (!existsSync(join(folder, "manifest.json"))) {
    throw new Error(
      `${folder} is not a cloud assembly: it has no manifest.json; \`npm run synth\` writes one to cdk.out`,
    );
  }
  try {
    return new CloudAssembly(folder).stacksRecursively.map((stack) => ({
      name: stack.stackName,
      environment: stack.environment.name,
      terminationProtection: stack.terminationProtection === true,
      template: stack.template,
    }));
  } catch (cause) {
    throw new Error(`cannot read the cloud assembly ${folder}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Synthesizes the app of the working directory into a folder as `cdk synth` does, but without bundling code, which
 * takes most of the time.
 * @param context Context from `-c`. It overrides that of `cdk.json`.
 * @param env Further variables of the app's process.
 * @returns True when the app passes its own checks. An app that fails them has an assembly, too.
 * @throws Error with the app's error message, when there is no assembly
 */
export async function synthesizeApp(
  folder: string,
  context: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const cdk = JSON.parse(readFileSync("cdk.json", "utf8")) as { app: string; context?: object };
  const { code, stdout, stderr } = await runApp(cdk.app, {
    ...env,
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify({ ...cdk.context, ...context, ...synthesisContext }),
    PATH: [ownPaths.native(dirname(process.execPath)), process.env.PATH].join(delimiter),
  });
  if (existsSync(join(folder, "manifest.json"))) return code === 0;
  throw new Error(
    `the app does not synthesize: ${errorLineOf(stderr) ?? compilersLineOf(stdout) ?? `exit code ${code}`}`,
  );
}

/** The message of the error that ended a program, or the last line. */
function errorLineOf(stderr: string): string | undefined {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const found = lines.find((line) => /^\w*Error\b.*: /.test(line)) ?? lines.at(-1);
  return found?.replace(/^\w*Error: /, "");
}

/** The first error that a compiler before the app wrote to the output, as `npx tsc && ...` of `cdk init` does. */
const compilersLineOf = (stdout: string): string | undefined =>
  stripVTControlCharacters(stdout)
    .split("\n")
    .find((line) => /\berror\b/i.test(line))
    ?.trim();

/**
 * Context that skips bundling and adds construct paths, which findings need. The CDK command line sets the latter, too.
 */
const synthesisContext = { "aws:cdk:bundling-stacks": [], "aws:cdk:enable-path-metadata": true };

function runApp(
  command: string,
  env: Record<string, string>,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const app = spawn(command, {
    shell: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  app.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  app.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    app.once("error", reject);
    app.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}
