import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { serialize } from "node:v8";
import { optionsVariable, type ProcessOptions } from "./describe.ts";
import { type DescribedCode, describeCode } from "./describe-code.ts";

/*
 * Loads a project's built code in a process of its own, because a process never forgets a loaded module, and because code may end its
 * process. Writes the description to a file.
 */

const { file, result, probes, root, deployed } = JSON.parse(process.env[optionsVariable] ?? "") as ProcessOptions;
delete process.env[optionsVariable];

// As in a worker, they end nothing. The caller reads this output if the process ends all the same.
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error) => process.stderr.write(`${String(error)}\n`));
}

async function described(): Promise<DescribedCode> {
  const code = await import(pathToFileURL(file).href);
  if (deployed === undefined) {
    const { localValues } = await import("../local/worker-environment.ts");
    const { placeInProject } = await import("../local/source-places.ts");
    return describeCode(code, { probes, root, placeOf: placeInProject, valuesOf: localValues });
  }
  const { placeInSources } = await import("../aws/bundle-places.ts");
  const { deployedValues } = await import("./deployed-values.ts");
  return describeCode(code, { probes, root, placeOf: placeInSources, valuesOf: deployedValues(deployed) });
}

const answer = await described().then(
  (found) => ({ found }),
  (error: unknown) => ({ crash: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
);
// JSON would lose the names of variables without a value.
writeFileSync(result, serialize(answer));
// Code that was loaded may keep timers and connections.
process.exit(0);
