import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import type { DescribedApp } from "../src/code/describe/described.ts";
import { join } from "../src/machine/paths.ts";
import { temporaryFolder } from "./task-code.ts";

/**
 * Variable with the folder in which a synthesis leaves the workers that it has started, for `offload run --bundle` and
 * the doctor. With it, a synthesis that bundles nothing starts them, too.
 */
export const keptWorkersVariable = "OFFLOAD_KEPT_WORKERS";

export const areWorkersKept = (): boolean => process.env[keptWorkersVariable] !== undefined;

/** A worker as it would be deployed, with this machine's binaries. */
export interface KeptWorker {
  /** It has the worker's files, and nothing else of the project. */
  readonly folder: string;
  /** Folder that the places of the sources start at. */
  readonly root: string;
  readonly app: DescribedApp;
  /** Values of variables that the deployment sets. */
  readonly variables: Readonly<Record<string, string>>;
}

const suffix = ".worker";

/** A new folder for a worker that is started once. It is deleted with this process, unless the worker is kept. */
export function folderOfWorker(): string {
  const kept = process.env[keptWorkersVariable];
  return kept === undefined ? temporaryFolder("offload-start-") : mkdtempSync(join(kept, "worker-"));
}

/** Describes a worker beside its folder, if it is to be kept. */
export function keepWorker(worker: KeptWorker): void {
  if (areWorkersKept()) writeFileSync(worker.folder + suffix, serialize(worker));
}

/** The workers that a synthesis has left in a folder. */
export const keptWorkers = (folder: string): KeptWorker[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(suffix))
    .map((name) => deserialize(readFileSync(join(folder, name))) as KeptWorker);
