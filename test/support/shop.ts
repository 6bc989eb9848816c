import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type App, CfnOutput, Duration, Stack, Validations } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { buildSync } from "esbuild";
import { buildOptions } from "../../lib/esbuild.ts";
import type { TaskPipeline } from "../../lib/task-pipeline.ts";
import { acknowledgeTracing } from "../../lib/tracing.ts";
import { leanClients } from "../../src/installed/installation.ts";

/** The function's bundle, as a user's own build makes it. */
function callerCode(): Code {
  const folder = mkdtempSync(join(tmpdir(), "offload-caller-"));
  const entryPoints = { index: fileURLToPath(new URL("direct-caller.ts", import.meta.url)) };
  buildSync({ ...buildOptions, conditions: ["module", leanClients], entryPoints, outdir: folder });
  return Code.fromAsset(folder);
}

/** Adds a second stack, with a function that submits directly to the app's pipeline. Its output `CallerName` is the function. */
export function addShop(app: App): void {
  const shop = new Stack(app, "Shop");
  const logGroup = new LogGroup(shop, "Logs");
  const role = new Role(shop, "Role", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  logGroup.grantWrite(role);
  const caller = new LambdaFunction(shop, "Caller", {
    runtime: Runtime.NODEJS_24_X,
    handler: "index.handler",
    code: callerCode(),
    memorySize: 512,
    timeout: Duration.seconds(30),
    role,
    logGroup,
  });
  (app.node.findChild("Offload") as TaskPipeline).grantSubmit(caller);
  new CfnOutput(shop, "CallerName", { value: caller.functionName });
  acknowledgeTracing(caller, false);
  Validations.of(caller).acknowledge({ id: "Serverless-LambdaDLQ", reason: "The test invokes it and waits." });
}
