import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { count } from "../format.ts";
import { api, type PathOf, tenant, tenantName } from "../session.ts";
import { typing } from "../signals.ts";
import { Curl } from "./curl.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./layout.tsx";
import { type Followed, follow, Progress, unfollow } from "./progress.tsx";
import { Text } from "./text.tsx";

/** An operation on many tasks: what is selected, and what is done with it. */
export interface Bulk {
  /** Title of the dialog, such as `Discard dead letters`. */
  title: string;
  /** Text of the button, such as `Discard`. */
  action: string;
  danger?: boolean;
  path: PathOf<"POST">;
  /** The selection: `filter` or `task_ids`, or the fields of a filter themselves. */
  body: Readonly<Record<string, unknown>>;
  /** Asks for a rate, such as that of a replay. Default: no. */
  hasRate?: boolean;
  /** Words for the selected things: `dead letters`, `tasks`. */
  things: string;
  /** `task_ids` are what a search found: all of it, or its first ones. */
  ofSearch?: "all" | "first";
}

/** The selection in words, for somebody who is about to change it. */
function selectionText({ body, things, ofSearch }: Bulk): string {
  const { task_ids: ids, filter = body } = body as { task_ids?: string[]; filter?: Record<string, unknown> };
  if (ofSearch === "all") return `what the search found`;
  if (ofSearch === "first") return `the first ${ids?.length} that the search found; search again for the others`;
  if (ids !== undefined) return ids.join(", ");
  const { tags = {}, ...fields } = filter;
  const parts = [
    ...Object.entries(fields),
    ...Object.entries(tags as object).map(([name, value]) => [`tag ${name}`, value]),
  ];
  return parts.length === 0 ? `all ${things}: no filter is set` : parts.map((part) => part.join(" = ")).join(", ");
}

const matchText = ({ matched, with_callback: sending }: { matched: number; with_callback?: number }, things: string) =>
  `${count(matched)} ${things} match${sending === undefined ? "" : `; ${sending} send a webhook`}.`;

/** True for an operation that destroys more than one thing: it asks for their number. */
const asksNumber = ({ danger }: Bulk, matched: number): boolean => danger === true && matched > 1;

const isConfirmed = (bulk: Bulk, matched: number, typed: string): boolean =>
  !asksNumber(bulk, matched) || typed.trim() === String(matched);

const Confirm = ({ bulk, matched, typed }: { bulk: Bulk; matched: number; typed: Signal<string> }) =>
  asksNumber(bulk, matched) ? (
    <label>
      Type {matched} to confirm that {count(matched)} {bulk.things} change
      <input inputMode="numeric" autocomplete="off" value={typed.value} onInput={typing(typed)} />
    </label>
  ) : null;

/** Counts what an operation would change, starts it when the reader agrees, and follows it to its end. */
export function BulkDialog({ bulk, onClose }: { bulk: Bulk; onClose: (started: boolean) => void }) {
  const found = useSignal<{ matched: number; with_callback?: number } | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const rate = useSignal("");
  const typed = useSignal("");
  const operation = useSignal<Followed | undefined>(undefined);
  const close = () => onClose(operation.value !== undefined);
  const { path, body } = bulk;
  useEffect(() => {
    api
      .send<{ matched: number }>("POST", path, { ...body, dry_run: true })
      .then((answer) => {
        found.value = answer;
      })
      .catch((thrown: Error) => {
        error.value = thrown;
      });
  }, []);
  const whole = { ...body, ...(rate.value !== "" && { per_second: Number(rate.value) }) };
  const busy = useSignal(false);
  const matched = found.value?.matched ?? 0;
  const start = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      const { operation_id } = await api.send<{ operation_id: string }>("POST", path, whole);
      operation.value = follow({ id: operation_id, tenant: tenant.value, action: bulk.action, things: bulk.things });
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  return (
    <Dialog title={bulk.title} onClose={close}>
      {error.value !== undefined && <Failure error={error.value} />}
      {operation.value !== undefined ? (
        <Progress of={operation.value}>
          {(isOver) => (
            <button
              type="button"
              onClick={() => {
                if (isOver && operation.value !== undefined) unfollow(operation.value);
                close();
              }}
            >
              Close
            </button>
          )}
        </Progress>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void start();
          }}
        >
          <p>
            Of <strong>{tenantName.value}</strong>: <Text of={selectionText(bulk)} most={400} />
          </p>
          {(found.value !== undefined || error.value === undefined) && (
            <p role="status">{found.value === undefined ? "Counting …" : matchText(found.value, bulk.things)}</p>
          )}
          {bulk.hasRate && (
            <label>
              At most this many per second (1 to 100; empty: no limit)
              <input type="number" min={1} max={100} value={rate.value} onInput={typing(rate)} />
            </label>
          )}
          <Confirm {...{ bulk, matched, typed }} />
          <Curl of={{ method: "POST", path, body: whole }} />
          <div class="dialog-actions">
            <button type="button" onClick={close}>
              Close
            </button>
            <button
              type="submit"
              class={bulk.danger ? "danger" : "primary"}
              disabled={matched === 0 || busy.value || !isConfirmed(bulk, matched, typed.value)}
            >
              {bulk.action} {found.value === undefined ? "" : count(matched)}
            </button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
