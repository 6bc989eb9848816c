import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { CloudAssembly } from "aws-cdk-lib/cx-api";
import type { Stack } from "../src/doctor/deployment.ts";
import { root } from "./esbuild.ts";

/**
 * The stacks of a cloud assembly, those of its stages too.
 * @throws Error when the folder is no assembly, or a broken one
 */
export function readAssembly(folder: string): Stack[] {
  if (!existsSync(join(folder, "manifest.json"))) {
    throw new Error(`${folder} is no cloud assembly: it has no manifest.json; \`npm run synth\` makes one in cdk.out`);
  }
  try {
    return new CloudAssembly(folder).stacksRecursively.map((stack) => ({
      name: stack.stackName,
      environment: stack.environment.name,
      terminationProtection: stack.terminationProtection === true,
      template: stack.template,
    }));
  } catch (cause) {
    throw new Error(`${folder} is no readable cloud assembly: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Synthesizes this project's app into a folder as `cdk synth` does, but bundles no code, which takes most of the time.
 * @param context As `-c` gives it: it goes before that of `cdk.json`.
 * @returns Whether the app's own checks take it. One that they refuse has an assembly all the same.
 * @throws Error with what the app said, when there is no assembly
 */
export async function synthesizeApp(folder: string, context: Readonly<Record<string, string>>): Promise<boolean> {
  const cdk = JSON.parse(readFileSync(join(root, "cdk.json"), "utf8")) as { app: string; context?: object };
  const { code, said } = await runApp(cdk.app, {
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify({ ...cdk.context, ...context, ...unbundled }),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  });
  if (existsSync(join(folder, "manifest.json"))) return code === 0;
  throw new Error(`the app does not synthesize: ${reasonIn(said) ?? `exit code ${code}`}`);
}

/** The line of an error that ended a program; the last line where there is none. */
function reasonIn(said: string): string | undefined {
  const lines = said.split("\n").filter((line) => line.trim() !== "");
  return lines.find((line) => /^\w*Error\b.*: /.test(line)) ?? lines.at(-1);
}

/** The paths of constructs say which one a finding is about; the CDK's command asks for them, too. */
const unbundled = { "aws:cdk:bundling-stacks": [], "aws:cdk:enable-path-metadata": true };

function runApp(command: string, env: Record<string, string>): Promise<{ code: number | null; said: string }> {
  const app = spawn(command, {
    shell: true,
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  app.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return new Promise((resolve, reject) => {
    app.once("error", reject);
    app.once("close", (code) => resolve({ code, said }));
  });
}
