import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { endsInTime } from "../src/aws/call-times.ts";
import { taskLinesFromConsole } from "../src/aws/console-lines.ts";
import { answerBatch } from "../src/aws/deliveries.ts";
import { exitAfterAnswer } from "../src/aws/exit-after-answer.ts";
import { observed } from "../src/aws/observed.ts";
import { reportOwnStray } from "../src/aws/own-strays.ts";
import { type OwnPorts, workerSettings, workPorts } from "../src/aws/work-ports.ts";
import type { WorkerCode } from "../src/aws/worker-types.ts";
import { Drain, type SharedProcess, workBatch } from "../src/core/pipeline/work/work.ts";
import { disk } from "../src/machine/disk.ts";
import { loadFollow } from "../src/machine/load-follow.ts";
import { catchStrayErrors } from "../src/machine/stray-errors.ts";
import { turn } from "../src/machine/turn.ts";
import { fromEnv } from "../src/settings/config.ts";

/** The context of an invocation. Lambda's process has one invocation at a time. */
export interface WorkerContext extends Context {
  process?: SharedProcess;
}

/**
 * Makes a worker's handler.
 * @param code The types of all files in `tasks/`: built code (`src/code/build`), or types that are loaded.
 * @param own Ports in place of those for Lambda.
 * @param replace Called after an exception that no code has caught, and when an attempt did not stop: this process
 * answers its invocation, and must get no other one.
 */
export async function createWorker(code: WorkerCode, own: OwnPorts = {}, replace: () => void = exitAfterAnswer) {
  const config = fromEnv(process.env, [...workerSettings, "tier"]);
  const given = { disk, turn, loadFollow, own, env: process.env };
  const { ports, releases, tracing, metrics, life } = await workPorts(config, "worker", code, given);
  let replaced = false;
  const endSoon = () => {
    if (!replaced) replace();
    replaced = true;
  };
  catchStrayErrors({ own: reportOwnStray(ports, config.tier), onException: endSoon });
  taskLinesFromConsole();
  const drain = new Drain(ports.clock);
  const { onStopping, isStopping } = drain;
  const endProcess = () => {
    drain.now();
    endSoon();
  };
  const working = { ...ports, onStopping, isStopping, endProcess };
  const work = (event: SQSEvent, context: WorkerContext): Promise<SQSBatchResponse> =>
    answerBatch(
      event,
      () => ({ tier: config.tier }),
      (deliveries) => {
        const deadlineMs = Date.now() + context.getRemainingTimeInMillis();
        const flush = () => Promise.all([releases.flush(), life()?.flush(deadlineMs)]);
        return workBatch(working, deliveries, deadlineMs, context.process).finally(flush);
      },
    );
  return endsInTime(observed({ metrics, tracing }, work));
}
