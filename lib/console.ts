import { consoleFiles } from "../src/installed/console-files.ts";
import type { SettingTexts } from "../src/settings/config.ts";
import type { FunctionOptions } from "./background.ts";
import type { PipelineFunction } from "./function.ts";
import type { Push } from "./push.ts";

export interface ConsoleProps {
  /** Name of the deployment. */
  readonly deployment: string;
  readonly version: string;
  /** Settings of the sign-in at an issuer. */
  readonly consoleSettings: SettingTexts;
}

/**
 * Adds the function that answers the console's page and files. It has no rights: the page asks the API, with the token
 * of its user. Its process needs about 70 MB, and it computes nothing; Lambda gives every function the same CPU while
 * it starts.
 */
export const addConsole = (
  add: (name: "console", options: FunctionOptions) => PipelineFunction,
  { deployment, version, consoleSettings }: ConsoleProps,
  push: Push | undefined,
): PipelineFunction =>
  add("console", {
    description: "answers the console's page",
    settings: { deployment, version, ...consoleSettings, ...push?.settings },
    files: { texts: consoleTexts() },
    memorySize: 256,
  });

/** The console's files, by their paths in the bundle. */
const consoleTexts = () =>
  Object.fromEntries(Object.entries(consoleFiles()).map(([name, text]) => [`console/${name}`, text]));
