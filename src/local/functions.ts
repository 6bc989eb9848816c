import type { Context } from "aws-lambda";

/** Invocation context of fire, which reads the remaining time only. Fire's time-out is five minutes. */
const fireContext = { getRemainingTimeInMillis: () => 300_000 } as Context;

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
    redrive: redrive.handler,
    fire: (event: unknown): Promise<void> => fire.handler(event, fireContext),
  };
}

export type Functions = Awaited<ReturnType<typeof loadFunctions>>;
