import { type SignalPorts, signal } from "../../core/extras/steps/signal.ts";
import type { CountRequest } from "../../core/limits/gate.ts";
import type { ViewPorts } from "../../core/pipeline/end/view.ts";
import { checkSignal } from "../../core/task/handler-submit.ts";
import { changedTask } from "../acts/task.ts";
import { shown } from "./act-handlers.ts";
import { type ApiPorts, type HandlersOf, identify } from "./api.ts";
import { optionalJsonValue } from "./body.ts";
import { findTask } from "./find-task.ts";
import { idempotencyKeyOf } from "./submit-ports.ts";

export interface SignalRoutePorts extends SignalPorts, ViewPorts, ApiPorts {
  /** Absent: signals have no rate. */
  countRequest?: CountRequest;
}

/** The handler that sends a signal to a task. */
export const signalTask = (ports: SignalRoutePorts) =>
  ({
    signalTask: async (call) => {
      const record = await findTask(ports, call, identify(call));
      const name = call.req.params.name ?? "";
      // A wrong name is refused whatever the body is.
      checkSignal(name, null);
      const body = await optionalJsonValue(call);
      checkSignal(name, body);
      await ports.countRequest?.(record.tenant_id);
      return shown(
        call,
        await changedTask(ports, await signal(ports, record, name, body, idempotencyKeyOf(call)), 202),
      );
    },
  }) satisfies Partial<HandlersOf<"control">>;
