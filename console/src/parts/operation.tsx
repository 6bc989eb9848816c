import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { OperationView } from "../../../src/core/operations/operation-state.ts";
import { count } from "../format.ts";
import { api } from "../session.ts";
import { Action } from "./action.tsx";
import { Curl } from "./curl.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./layout.tsx";

/** An operation on many tasks: what is selected, and what is done with it. */
export interface Bulk {
  /** Title of the dialog, such as `Discard dead letters`. */
  title: string;
  /** Text of the button, such as `Discard`. */
  action: string;
  danger?: boolean;
  path: string;
  /** The selection: `filter` or `task_ids`. */
  body: Readonly<Record<string, unknown>>;
  /** Asks for a rate, such as that of a replay. Default: no. */
  hasRate?: boolean;
  /** Words for the selected things: `dead letters`, `tasks`. */
  things: string;
}

const ended = new Set(["completed", "failed", "cancelled", "expired"]);

/** Counts what an operation would change, starts it when the reader agrees, and follows it to its end. */
export function BulkDialog({ bulk, onClose }: { bulk: Bulk; onClose: () => void }) {
  const matched = useSignal<number | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const rate = useSignal("");
  const operation = useSignal<OperationView | undefined>(undefined);
  const { path, body } = bulk;
  useEffect(() => {
    api
      .send<{ matched: number }>("POST", path, { ...body, dry_run: true })
      .then((answer) => {
        matched.value = answer.matched;
      })
      .catch((thrown: Error) => {
        error.value = thrown;
      });
  }, []);
  const whole = { ...body, ...(rate.value !== "" && { per_second: Number(rate.value) }) };
  const busy = useSignal(false);
  const start = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      const { operation_id } = await api.send<{ operation_id: string }>("POST", path, whole);
      operation.value = await api.get<OperationView>(`/operations/${operation_id}`);
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  return (
    <Dialog title={bulk.title} onClose={onClose}>
      {error.value !== undefined && <Failure error={error.value} />}
      {operation.value !== undefined ? (
        <Progress of={operation.value} things={bulk.things} onClose={onClose} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void start();
          }}
        >
          <p role="status">
            {matched.value === undefined ? "Counting …" : `${count(matched.value)} ${bulk.things} match.`}
          </p>
          {bulk.hasRate && (
            <label>
              At most this many per second (1 to 100; empty: no limit)
              <input
                type="number"
                min={1}
                max={100}
                value={rate.value}
                onInput={(event) => {
                  rate.value = event.currentTarget.value;
                }}
              />
            </label>
          )}
          <Curl of={{ method: "POST", path, body: whole }} />
          <div class="dialog-actions">
            <button type="button" onClick={onClose}>
              Close
            </button>
            <button type="submit" class={bulk.danger ? "danger" : "primary"} disabled={!matched.value || busy.value}>
              {bulk.action} {matched.value === undefined ? "" : count(matched.value)}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}

/** The progress of an operation, until its end. */
function Progress({ of, things, onClose }: { of: OperationView; things: string; onClose: () => void }) {
  const state = useSignal(of);
  const error = useSignal<Error | undefined>(undefined);
  const path = `/operations/${of.operation_id}`;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const read = async () => {
      try {
        state.value = await api.get<OperationView>(path);
        error.value = undefined;
      } catch (thrown) {
        error.value = thrown as Error;
      }
      if (!ended.has(state.value.status)) timer = setTimeout(read, 1_000);
    };
    timer = setTimeout(read, 300);
    return () => clearTimeout(timer);
  }, []);
  const { status, matched, done, skipped, failed } = state.value;
  const isOver = ended.has(status);
  return (
    <>
      {error.value !== undefined && <Failure error={error.value} />}
      <progress aria-label="Progress" max={Math.max(1, matched)} value={done + skipped + failed} />
      <p role="status">
        {isOver ? `The operation is ${status}: ` : ""}
        {count(done)} of {count(matched)} {things} done, {count(skipped)} skipped, {count(failed)} failed.
      </p>
      <div class="dialog-actions">
        {!isOver && <Action run={() => api.send("POST", `${path}/cancel`)}>Abort</Action>}
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  );
}
