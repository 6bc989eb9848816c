import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { answerBatch, originOf } from "../src/aws/deliveries.ts";
import { createLog } from "../src/aws/log.ts";
import { dispatchPorts, dispatchSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { type RedrivePorts, redriveBatch } from "../src/core/redrive.ts";

const config = fromEnv(process.env, [...dispatchSettings, "timeScale"]);
const ports: RedrivePorts = {
  ...dispatchPorts(config),
  random: Math.random,
  timeScale: config.timeScale,
  log: createLog("redrive"),
};

export const handler = (event: SQSEvent): Promise<SQSBatchResponse> =>
  answerBatch(
    event,
    (record) => originOf(record, config.queueUrls),
    (deliveries) => redriveBatch(ports, deliveries),
  );
