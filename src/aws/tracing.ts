import { noTracing, type Tracing } from "../core/tracing.ts";

/**
 * A function's tracing. With `OFFLOAD_TRACING=1` spans go to whatever OpenTelemetry SDK is there, as in the ADOT layer; they
 * are not sampled, named or sent here. Without it nothing is loaded, and a trace is handed on as it came.
 */
export async function createTracing(env: NodeJS.ProcessEnv = process.env): Promise<Tracing> {
  if (env.OFFLOAD_TRACING !== "1") return noTracing;
  const { openTelemetry } = await import("./open-telemetry.ts");
  return openTelemetry();
}
