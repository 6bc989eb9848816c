import { operationTypes } from "../../../src/core/control/run-operation.ts";
import { registry } from "../../../src/core/task/task.ts";
// Loaded before it is used: time that a test moves does not wait for code.
import "../../../src/core/control/cancel-others.ts";
import type { Part } from "../pipeline-ports.ts";

/** The types of Offload's own tasks: operations, cancels of children, sweeps. */
export const operations: Part = {
  ports: (ports, types) => ({ registry: registry([...types, ...operationTypes(ports)]) }),
};
