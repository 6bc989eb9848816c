import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { endsInTime } from "../src/aws/call-times.ts";
import { answerBatch, originOf } from "../src/aws/deliveries.ts";
import { endingPorts } from "../src/aws/ending-ports.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { dispatchPorts, dispatchSettings } from "../src/aws/wiring.ts";
import { redriveBatch } from "../src/core/pipeline/work/redrive.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, [...dispatchSettings, "timeScale"]);
const base = dispatchPorts(config, createLog("redrive"));
// The function has no right to read entries, and ends no attempt of its own: it never keeps them.
const ports = { ...base, ...endingPorts(base.table), random: Math.random, timeScale: config.timeScale };
const redrive = (event: SQSEvent): Promise<SQSBatchResponse> =>
  answerBatch(
    event,
    (record) => originOf(record, config.queueUrls, config.containerQueueUrls),
    (deliveries) => redriveBatch(ports, deliveries),
  );

export const handler = endsInTime(observed(ports, redrive));
