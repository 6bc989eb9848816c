import { noTracing } from "../core/tracing.ts";
import type { SentTracing } from "./observed.ts";

/**
 * A function's tracing. With `OFFLOAD_TRACING=1` spans go to whatever OpenTelemetry SDK is there, as in the ADOT layer; they
 * are not sampled, named or exported here. Without it nothing is loaded, and a trace is handed on as it came.
 */
export async function createTracing(env: NodeJS.ProcessEnv = process.env): Promise<SentTracing> {
  if (env.OFFLOAD_TRACING !== "1") return { ...noTracing, flush: async () => {} };
  const { openTelemetry } = await import("./open-telemetry.ts");
  return openTelemetry();
}
