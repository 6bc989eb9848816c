import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App } from "aws-cdk-lib";
import * as z from "zod";
import { readAssembly } from "../../../lib/assembly.ts";
import type { TaskPipelineProps } from "../../../lib/pipeline-props.ts";
import type { TaskPipeline } from "../../../lib/task-pipeline.ts";
import { defineTask, type TaskType } from "../../../src/core/task/task.ts";
import { Deployment, type Stack } from "../../../src/tools/doctor/deployment.ts";
import type { CodeFindings } from "../../../src/tools/doctor/finding.ts";
import { findingsOfCode } from "../../../src/tools/doctor/reviewed-type.ts";
import { pipelineOf } from "../../support/pipeline-of.ts";

const { context } = JSON.parse(readFileSync(new URL("../../../cdk.json", import.meta.url), "utf8")) as {
  context: Record<string, unknown>;
};

/**
 * An app with the project's feature flags: without bundles, without the CDK's own rules, which would refuse some mistakes
 * first, and without its report on the error output.
 */
export function quickApp(props: { outdir?: string } = {}): App {
  const quick = {
    "aws:cdk:bundling-stacks": [],
    "aws:cdk:enable-path-metadata": true,
    "aws:cdk:disable-stack-trace": true,
    "@aws-cdk/core:annotationsInValidationReport": false,
  };
  const without = { analyticsReporting: false, treeMetadata: false, builtinCloudFormationValidation: false };
  return new App({ context: { ...context, ...quick }, ...without, ...props });
}

/** A type that nothing is wrong with. */
export const mail = defineTask({
  name: "mail.send",
  description: "Sends a mail.",
  input: z.strictObject({ to: z.email().max(320) }),
  handler: () => null,
});

/** An app to make mistakes in, before it is synthesized. */
export interface Sketch {
  app: App;
  pipeline: TaskPipeline;
  /** What the workers know. */
  types: TaskType[];
}

/** What a synthesis left. */
export interface Synthesized {
  deployment: Deployment;
  types: readonly TaskType[];
  findings: CodeFindings;
  stacks: readonly Stack[];
  /** The synth's warnings by the construct. */
  warnings: { construct: string; text: string }[];
  /** The cloud assembly, while `use` runs. */
  folder: string;
}

/**
 * Synthesizes an app with a pipeline, and with mistakes in it.
 * @param own The app's task types. Default: one that nothing is wrong with.
 * @param use Gets what the synthesis left; its folder is removed afterwards.
 */
export async function synthesized<T>(
  {
    own = [mail],
    props = {},
    plant,
  }: { own?: TaskType[]; props?: Partial<TaskPipelineProps>; plant?: (sketch: Sketch) => void },
  use: (result: Synthesized) => T | Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "offload-doctor-test-"));
  try {
    const app = quickApp({ outdir: folder });
    const types = [...own];
    const pipeline = pipelineOf(app, { types }, props);
    plant?.({ app, pipeline, types });
    const warnings = app
      .synth()
      .stacks.flatMap(({ messages }) => messages)
      .filter(({ level }) => level === "warning")
      .map(({ id, entry }) => ({ construct: id, text: String(entry.data) }));
    const stacks = readAssembly(folder);
    return await use({
      deployment: new Deployment(stacks),
      types,
      findings: findingsOfCode(types),
      stacks,
      warnings,
      folder,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
