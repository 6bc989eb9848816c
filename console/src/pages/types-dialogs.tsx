import { useSignal } from "@preact/signals";
import type { TypeView } from "../../../src/api/acts/views.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { api, tenant } from "../session.ts";

const pathOf = <Act extends string>({ name }: TypeView, act: Act) =>
  `/types/${encodeURIComponent(name)}/${act}` as const;

/** Pauses or resumes a type, for the tenant or for all tenants. */
export function PauseDialog({ of, all, onClose }: { of: TypeView; all: boolean; onClose: () => void }) {
  const since = all ? of.paused?.all : of.paused?.tenant;
  const isPaused = since != null;
  const whom = all ? "all tenants" : tenant.value;
  return (
    <FormDialog
      title={`${isPaused ? "Resume" : "Pause"} ${of.name} for ${whom}`}
      action={isPaused ? "Resume" : "Pause"}
      danger={!isPaused}
      run={() => api.send("POST", pathOf(of, isPaused ? "resume" : "pause"), all ? { all: true } : {})}
      onClose={onClose}
    >
      <p>
        {isPaused
          ? "The tasks that wait start within about three seconds, in order of submission."
          : "Tasks are accepted and wait. Those that run go on. The answer comes when no worker starts another one, after about three seconds."}
      </p>
    </FormDialog>
  );
}

/** Changes the limits of a type, for all tenants. Only those with which it is defined. */
export function LimitsDialog({ of, onClose }: { of: TypeView; onClose: () => void }) {
  const { concurrency, rate_limit: rate } = of;
  const places = useSignal(String(concurrency?.limit ?? ""));
  const starts = useSignal(String(rate?.limit ?? ""));
  const seconds = useSignal(String(rate?.per_seconds ?? ""));
  // A limit that is sent stays as it is sent, also when a later deployment defines another one.
  const isOther = (value: string, now: number | null | undefined) => value !== String(now ?? "");
  const changes = () => ({
    ...(isOther(places.value, concurrency?.limit) && {
      concurrency: places.value === "" ? null : Number(places.value),
    }),
    ...((isOther(starts.value, rate?.limit) || isOther(seconds.value, rate?.per_seconds)) && {
      rate: starts.value === "" ? null : { limit: Number(starts.value), per_seconds: Number(seconds.value) },
    }),
  });
  const run = () => api.send("PATCH", pathOf(of, "limits"), changes());
  return (
    <FormDialog
      title={`Limits of ${of.name}`}
      action="Change"
      disabled={Object.keys(changes()).length === 0}
      run={run}
      onClose={onClose}
    >
      <p>For all tenants. Every worker knows the change after about three seconds. Empty: as the type is defined.</p>
      {concurrency !== null && <TextField label="Tasks at the same time" type="number" value={places} />}
      {rate !== null && <TextField label="Starts" type="number" value={starts} />}
      {rate !== null && <TextField label="in this many seconds" type="number" value={seconds} />}
    </FormDialog>
  );
}
