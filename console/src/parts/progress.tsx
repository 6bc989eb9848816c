import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { OperationView } from "../../../src/core/control/operation.ts";
import { count } from "../format.ts";
import { api, tenant } from "../session.ts";
import { Action } from "./action.tsx";
import { Failure } from "./layout.tsx";
import { Id } from "./text.tsx";

/** An operation that was started in this tab. */
export interface Followed {
  id: string;
  tenant: string;
  /** Such as `Discard`. */
  action: string;
  /** Such as `dead letters`. */
  things: string;
}

const storedName = "offload.operations";

/** Operations whose end the reader has not seen yet. The session storage keeps them over a reload. */
const followed = signal<readonly Followed[]>(JSON.parse(sessionStorage.getItem(storedName) ?? "[]"));

function keep(operations: readonly Followed[]): void {
  followed.value = operations;
  sessionStorage.setItem(storedName, JSON.stringify(operations));
}

/** Shows an operation at the foot of each page, until `unfollow`. */
export function follow(operation: Followed): Followed {
  keep([...followed.value, operation]);
  return operation;
}

export const unfollow = ({ id }: Followed): void => keep(followed.value.filter((one) => one.id !== id));

const ended = new Set(["completed", "failed", "cancelled", "expired"]);

/** The progress of an operation, until its end. `children` are further buttons. */
export function Progress({ of, children }: { of: Followed; children: (isOver: boolean) => ComponentChildren }) {
  const state = useSignal<OperationView | undefined>(undefined);
  const error = useSignal<Error | undefined>(undefined);
  const path = `/operations/${of.id}` as const;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const read = async () => {
      try {
        state.value = await api.get<OperationView>(path);
        error.value = undefined;
      } catch (thrown) {
        error.value = thrown as Error;
      }
      if (!ended.has(state.value?.status ?? "")) timer = setTimeout(read, 1_000);
    };
    void read();
    return () => clearTimeout(timer);
  }, []);
  const { status = "", matched = 0, done = 0, skipped = 0, failed = 0 } = state.value ?? {};
  const isOver = ended.has(status);
  return (
    <>
      {error.value !== undefined && <Failure error={error.value} />}
      <progress aria-label="Progress" max={Math.max(1, matched)} value={done + skipped + failed} />
      <p role="status">
        {isOver ? `The operation is ${status}: ` : ""}
        {count(done)} of {count(matched)} {of.things} done, {count(skipped)} skipped, {count(failed)} failed.
      </p>
      <p class="muted">
        Operation <Id of={of.id} />
      </p>
      <div class="dialog-actions">
        {!isOver && <Action run={() => api.send("POST", `${path}/cancel`)}>Abort</Action>}
        {children(isOver)}
      </div>
    </>
  );
}

/** The operations that go on while their dialog is closed. */
export function Operations() {
  return followed.value
    .filter((one) => one.tenant === tenant.value)
    .map((one) => (
      <section key={one.id} class="card operation" aria-label={`${one.action} ${one.things}`}>
        <h2>
          {one.action} {one.things}
        </h2>
        <Progress of={one}>
          {(isOver) =>
            isOver && (
              <button type="button" onClick={() => unfollow(one)}>
                Dismiss
              </button>
            )
          }
        </Progress>
      </section>
    ));
}
