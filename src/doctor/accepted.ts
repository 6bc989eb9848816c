import { type Deployment, memberOf, type Stack } from "./deployment.ts";

/** What a service stack says of itself, in its template's metadata. The TaskPipeline construct writes it. */
export interface Accepted {
  /** The types that its API takes. */
  types: readonly string[];
  /** The app's schedules, each with the type that it submits. */
  schedules: Readonly<Record<string, string>>;
  /** Invocations at once that its account has, by what the app says. */
  accountConcurrency: number;
}

/** Where it is in a template's metadata. */
export const acceptedKey = "Offload";

/** What the stacks say of themselves; those of older versions say nothing. */
export function acceptedIn(deployment: Deployment): { stack: Stack; accepted: Accepted }[] {
  return deployment.stacks.flatMap((stack) => {
    const accepted = memberOf(stack.template.Metadata, acceptedKey);
    return accepted === undefined ? [] : [{ stack, accepted: accepted as Accepted }];
  });
}
