import { files as acts } from "../operations/index.ts";
import { operationsOf } from "./acts.ts";
import "./flow-answers.ts";

/** The routes of pauses and limits. */
export const flowOperations = { ...operationsOf("flow", acts.queues), ...operationsOf("flow", acts.types) };
