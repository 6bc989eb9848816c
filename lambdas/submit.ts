import { answersWithin, apiMs, asBatch } from "../src/aws/call-times.ts";
import { GatheredQueues } from "../src/aws/gathered-queues.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { submitPorts, submitSettings } from "../src/aws/submit-ports.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { catalogTypes } from "../src/aws/wiring.ts";
import { serve } from "../src/http/serve.ts";
import { submitApi } from "../src/http/submit.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, submitSettings);
const types = catalogTypes(process.env);
const base = submitPorts(config, createLog("submit"));
const batch = { queues: new GatheredQueues(base.queues), longer: asBatch };
const ports = { ...base, batch, types, tracing: await createTracing() };

export const handler = answersWithin(apiMs, observed(ports, serve(submitApi(ports))));
