import type { ViewPorts } from "../core/end/view.ts";
import type { CountRequest } from "../core/limits/gate.ts";
import { Problem } from "../core/model/problem.ts";
import { type SignalPorts, signal } from "../core/steps/signal.ts";
import { mostValueBytes } from "../core/task/json-value.ts";
import { isSignalName } from "../core/task/step-names.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import { optionalJsonValue } from "./body.ts";
import { changedTask } from "./control.ts";
import { findTask } from "./find-task.ts";

export interface SignalRoutePorts extends SignalPorts, ViewPorts, ApiPorts {
  /** Absent: signals have no rate. */
  countRequest?: CountRequest;
}

/** The handler that sends a signal to a task. */
export const signalTask = (ports: SignalRoutePorts) =>
  ({
    signalTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const name = call.req.param("name") ?? "";
      if (!isSignalName(name)) {
        const message = 'expected 1 to 64 letters, digits, ".", "_" or "-"';
        throw new Problem("invalid_input", `name: ${message}`, { errors: [{ path: "/name", message }] });
      }
      const body = await optionalJsonValue(call);
      if (Buffer.byteLength(JSON.stringify(body)) > mostValueBytes) {
        throw new Problem("too_large", `A signal has at most ${mostValueBytes} bytes.`);
      }
      await ports.countRequest?.(record.tenant_id);
      return changedTask(ports, call, await signal(ports, record, name, body), 202);
    },
  }) satisfies Partial<HandlersOf<"control">>;
