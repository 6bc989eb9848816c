import { noTracing } from "../core/ports/tasks.ts";
import type { SentTracing } from "./observed.ts";

/**
 * Creates a function's tracing. With `OFFLOAD_TRACING=1` spans go to the registered OpenTelemetry SDK, for example that
 * of the ADOT layer, which samples and exports them. Otherwise no span is created, and an incoming trace is passed on
 * unchanged.
 */
export async function createTracing(env: NodeJS.ProcessEnv = process.env): Promise<SentTracing> {
  if (env.OFFLOAD_TRACING !== "1") return { ...noTracing, flush: async () => {} };
  const { openTelemetry } = await import("./open-telemetry.ts");
  return openTelemetry();
}
