import { CloudWatchClient } from "#aws-sdk/client-cloudwatch";
import { boundedCalls } from "./call-times.ts";
import { boundedTries } from "./http-handler.ts";
import { localConfig } from "./local-services.ts";

/** Client for metrics. In a file of its own, so that only the function control loads it. */
export const cloudWatchClient = (): CloudWatchClient =>
  boundedCalls(new CloudWatchClient({ ...boundedTries(), ...localConfig("cloudwatch") }));
