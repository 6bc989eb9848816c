import type { Context, SQSEvent } from "aws-lambda";

/** Invocation context of a function with this time-out, in seconds. Functions read only the remaining time. */
const contextOf = (seconds: number) => ({ getRemainingTimeInMillis: () => seconds * 1000 }) as Context;

/** Loads the Lambda functions. Call it after the environment is set: the functions read their settings when they load. */
export async function loadFunctions() {
  const [submit, status, control, authorizer, redrive, fire] = await Promise.all([
    import("../../lambdas/submit.ts"),
    import("../../lambdas/status.ts"),
    import("../../lambdas/control.ts"),
    import("../../lambdas/authorizer.ts"),
    import("../../lambdas/redrive.ts"),
    import("../../lambdas/fire.ts"),
  ]);
  return {
    http: { submit: submit.handler as never, status: status.handler as never, control: control.handler as never },
    authorizer: authorizer.handler as never,
    redrive: (event: SQSEvent) => redrive.handler(event, contextOf(60)),
    fire: (event: unknown): Promise<void> => fire.handler(event, contextOf(300)),
  };
}

export type Functions = Awaited<ReturnType<typeof loadFunctions>>;
