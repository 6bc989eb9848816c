import { pathToFileURL } from "node:url";
import { buildLocalCode } from "../build/local-code.ts";
import { constantKeysIn } from "../build/once-keys.ts";
import { placeInProject } from "../project/source-places.ts";
import { deployedValues } from "./deployed-values.ts";
import { compileCacheVariable, optionsVariable, type SourcesProcessOptions } from "./describe.ts";
import { type DescribedCode, type DescribeOptions, describeCode } from "./describe-code.ts";
import { withOnceKeys } from "./described.ts";
import { sayStrayErrors, writeAnswer } from "./write-description.ts";

/*
 * Builds a project's code for this machine, loads it, and describes it with a deployment's values, in a process of its
 * own. For a template whose functions are not bundled: a third of the time that building and starting the worker takes.
 */

const { tasks, probes, deployed, result } = JSON.parse(process.env[optionsVariable] ?? "") as SourcesProcessOptions;
for (const variable of [optionsVariable, compileCacheVariable]) delete process.env[variable];

async function described(onLoading: DescribeOptions["onLoading"]): Promise<DescribedCode> {
  using code = await buildLocalCode(tasks);
  const loaded = await import(pathToFileURL(code.file).href);
  const found = await describeCode(loaded, {
    probes,
    root: code.root,
    onLoading,
    placeOf: placeInProject,
    valuesOf: deployedValues(deployed),
  });
  return { ...found, app: withOnceKeys(found.app, constantKeysIn(code.root, code.sources)) };
}

// The caller reads this output if the process ends all the same.
sayStrayErrors();
await writeAnswer(result, described);
// Code that was loaded may keep timers and connections.
process.exit(0);
