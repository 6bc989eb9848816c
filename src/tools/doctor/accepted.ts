import { type Deployment, memberOf, type Stack } from "./deployment.ts";

/** Facts about a pipeline in the metadata of its service stack's template. The TaskPipeline construct writes them. */
export interface Accepted {
  /** Task types that the API accepts. */
  types: readonly string[];
  /** The app's schedules, each with the task type that it submits. */
  schedules: Readonly<Record<string, string>>;
  /** The app's triggers, each with the task type that it submits. Absent in stacks of older versions: none. */
  triggers?: Readonly<Record<string, string>>;
  /** Concurrency limit of the account, as configured in the app. */
  accountConcurrency: number;
  /** Size of the account, as configured in the app. Absent in stacks of older versions: `standard`. */
  profile?: string;
}

/** Key in the template's metadata. */
export const acceptedKey = "Offload";

/** Key in the metadata of a data stack's template: its stage is not `dev`, and still keeps no data. */
export const disposableKey = "OffloadDisposable";

/** Reads these facts from the stacks. Stacks of older versions have none. */
export function acceptedIn(deployment: Deployment): { stack: Stack; accepted: Accepted }[] {
  return deployment.stacks.flatMap((stack) => {
    const accepted = memberOf(stack.template.Metadata, acceptedKey);
    return accepted === undefined ? [] : [{ stack, accepted: accepted as Accepted }];
  });
}
