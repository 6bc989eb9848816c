import type { LocalCode } from "../../code/build/local-code.ts";
import type { CodeToDescribe } from "../../code/describe/describe.ts";
import type { DescribedCode } from "../../code/describe/describe-code.ts";
import { type LocalApp, loadApp } from "../../code/describe/load-app.ts";
import { readDotEnv, type WorkerEnvironment, workerEnvironment } from "../../code/describe/worker-environment.ts";
import { TaskFileError } from "../../code/project/task-modules.ts";
import { type AppSchedule, appSchedules } from "../../core/schedules/app-schedule.ts";
import { appTriggers } from "../../core/schedules/define-trigger.ts";
import type { AppTrigger } from "../../core/schedules/trigger.ts";
import type { Catalog } from "../../core/task/catalog.ts";
import { localDeployment } from "./resources.ts";

/** A project as the local server uses it: its built code, and what is in there. */
export interface Project {
  readonly code: LocalCode;
  /**
   * Folder of a worker as it would be deployed, whose own program runs the attempts. Undefined: the code runs in this
   * installation's workers.
   */
  readonly workerFolder?: string;
  readonly catalog: Catalog;
  readonly schedules: readonly AppSchedule[];
  readonly triggers: readonly AppTrigger[];
  readonly environment: WorkerEnvironment;
  /** Names of the files that were loaded. */
  readonly files: readonly string[];
  /** Files that could not be loaded, each with the reason. The other types run. */
  readonly problems: readonly { readonly file: string; readonly message: string }[];
}

/**
 * Builds the project's code, and loads it in a process of its own.
 * @throws TaskFileError when no type can be loaded, or when schedules and triggers do not fit the types
 */
export async function loadProject(
  folder: string,
  probes: boolean,
  describing?: (code: CodeToDescribe) => Promise<DescribedCode>,
): Promise<Project> {
  const found = await loadApp(folder, probes, describing);
  try {
    return projectOf(found);
  } catch (error) {
    found.code[Symbol.dispose]();
    throw error;
  }
}

function projectOf({ code, app, problems }: LocalApp): Project {
  const { catalog, environment } = app;
  const [first] = problems;
  if (first !== undefined && catalog.every(({ name }) => name.startsWith("probe.")))
    throw new TaskFileError(first.message);
  try {
    return {
      code,
      catalog,
      schedules: appSchedules(app.schedules, catalog),
      triggers: appTriggers(app.triggers, catalog, localDeployment),
      environment: workerEnvironment(environment, process.env, readDotEnv()),
      files: app.files,
      problems,
    };
  } catch (cause) {
    throw new TaskFileError(first?.message ?? (cause as Error).message, { cause });
  }
}
