import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { durationSeconds } from "../../../src/util/duration.ts";
import { setClock } from "../clock.ts";
import { duration, localTime } from "../format.ts";
import { mayChange } from "../session.ts";
import { setting } from "../signals.ts";
import { say } from "./action.tsx";
import { FormDialog } from "./dialog.tsx";
import { TextField } from "./field.tsx";

/** The local server's clock, as it answers. */
interface Clock {
  now: string;
  ahead_seconds: number;
  /** Null: the clock stands. */
  moving: { to: string; waits_for: string | null } | null;
}

/** Time between two looks at a clock that moves, in milliseconds. */
const lookMs = 500;

/** Undefined until it is read. */
const clock = signal<Clock | undefined>(undefined);

/** Asks the server for its clock, or gives it an order. A move is answered when all that was due is done. */
async function ask<T extends object>(method: "GET" | "POST" | "DELETE", order?: object): Promise<T> {
  const body = order && { headers: { "content-type": "application/json" }, body: JSON.stringify(order) };
  const answer = await fetch("/_local/clock", { method, ...body });
  const found = (await answer.json()) as T & { detail?: string };
  if (!answer.ok) throw new Error(found.detail ?? `The server answers with the status ${answer.status}.`);
  setClock(answer.headers.get("date"));
  return found;
}

const look = async (): Promise<void> => {
  clock.value = await ask<Clock>("GET");
};

/**
 * Moves the clock, and says what happened on its way.
 * @param order As the body of `POST /_local/clock`.
 */
export async function moveClock(order: object): Promise<void> {
  const looking = setInterval(() => void look().catch(() => {}), lookMs);
  try {
    const moved = await ask<Clock & { summary?: string }>("POST", order);
    clock.value = moved;
    say(moved.summary === undefined ? "The clock has the machine's time." : `The clock moved: ${moved.summary}.`);
  } finally {
    clearInterval(looking);
  }
}

/** Shows the lead of the local server's clock, and moves the clock in a dialog. */
export function ServerClock() {
  const open = useSignal(false);
  useEffect(() => void look().catch(() => {}), []);
  const ahead = clock.value?.ahead_seconds ?? 0;
  const text = ahead === 0 ? "Clock" : `Clock ${duration(ahead * 1000)} ahead`;
  return (
    <>
      <button type="button" class="quiet clock" onClick={setting(open, true)}>
        {text}
      </button>
      {open.value && <ClockDialog onClose={setting(open, false)} />}
    </>
  );
}

function ClockDialog({ onClose }: { onClose: () => void }) {
  const to = useSignal("1d");
  useEffect(() => void look().catch(() => {}), []);
  const { now, moving } = clock.value ?? {};
  return (
    <FormDialog
      title="The server's clock"
      action="Move it forward"
      disabled={!mayChange() || orderOf(to.value) === undefined}
      onClose={onClose}
      run={() => moveClock(orderOf(to.value) ?? {})}
    >
      <p>
        Delays, retries, schedules, sleeps and expiry happen as if the time had passed, each at its time.
        {now !== undefined && ` It is ${localTime(now)} there.`}
      </p>
      <TextField
        label="By, or to"
        value={to}
        required
        hint="2d, 90m or 1d 12h; or a time such as 2027-03-28T00:59:50Z"
      />
      {moving != null && (
        <p role="status">
          It moves to {localTime(moving.to)}
          {moving.waits_for !== null && `, and waits for ${moving.waits_for}`}.{" "}
          <button type="button" onClick={() => void ask("DELETE").catch((error: Error) => say(error.message))}>
            Stop it here
          </button>
        </p>
      )}
    </FormDialog>
  );
}

/** The order of a duration such as `2d`, or of a time. Undefined: the text is neither. */
function orderOf(text: string): object | undefined {
  const seconds = durationSeconds(text.trim().replace(/^\+/, ""));
  if (seconds !== undefined) return { advance_seconds: seconds };
  return /^\d{4}-\d\d-\d\dT/.test(text.trim()) && !Number.isNaN(Date.parse(text)) ? { at: text.trim() } : undefined;
}
