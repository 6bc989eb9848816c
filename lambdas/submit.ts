import { serve } from "../src/api/http/serve.ts";
import { submitApi } from "../src/api/http/submit.ts";
import { answersWithin, apiMs, asBatch } from "../src/aws/call-times.ts";
import { catalogTypes } from "../src/aws/catalog-types.ts";
import { limitsOf } from "../src/aws/gate.ts";
import { GatheredQueues } from "../src/aws/gathered-queues.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { submitPorts, submitSettings } from "../src/aws/submit-ports.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { fitsOf } from "../src/core/model/fits.ts";
import { isUsualBody } from "../src/core/pipeline/submit/usual-body.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, submitSettings);
// A mistake in the limits ends the start, and not each submit.
await limitsOf(config.limits);
const types = catalogTypes(process.env, fitsOf);
const base = submitPorts(config, createLog("submit"));
const batch = { queues: new GatheredQueues(base.queues), longer: asBatch };
const ports = { ...base, batch, types, isUsualBody, tracing: await createTracing() };

export const handler = answersWithin(apiMs, observed(ports, serve(submitApi(ports))));
