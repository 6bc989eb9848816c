import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ScheduleView } from "../../../src/client/schedule-calls.ts";
import type { InputError } from "../../../src/core/model/problem.ts";
import { tiers } from "../../../src/core/model/words.ts";
import { say } from "../parts/action.tsx";
import { Failure, Page, Section } from "../parts/layout.tsx";
import { Options } from "../parts/options.tsx";
import { go } from "../route.ts";
import { exampleOf, type Schema } from "../schema.ts";
import { api, chosenTenant } from "../session.ts";
import { setting } from "../signals.ts";
import { useTaskTypes } from "../task-types.ts";
import { zoneNames } from "../zones.ts";
import { schedulePath } from "./schedules-data.ts";
import { Field, isShown, ScheduleFields } from "./schedules-fields.tsx";
import { PreviewOf, problemsOf, usePreview } from "./schedules-preview.tsx";

/** The form for a new schedule. */
export function NewSchedulePage() {
  const fields = useMemo(() => new ScheduleFields(undefined), []);
  const save = async () => {
    const body = { name: fields.name.value, ...fields.body };
    const { schedule_id } = await api.send<ScheduleView>("POST", "/schedules", body);
    say("The schedule is created.");
    go(["schedules", schedule_id], { tenant: chosenTenant.value });
  };
  return (
    <Page title="New schedule">
      <ScheduleForm
        {...{ fields, save }}
        action="Create"
        onClose={() => go(["schedules"], { tenant: chosenTenant.value })}
        isNew
      />
    </Page>
  );
}

/** The form to change a schedule. Only what was changed is sent, so that nothing else is put back. */
export function ChangeSchedule({ schedule, onClose }: { schedule: ScheduleView; onClose: () => void }) {
  const fields = useMemo(() => new ScheduleFields(schedule), []);
  const first = useMemo(() => fields.body, []);
  const save = async () => {
    const now = fields.body;
    const names = (Object.keys(now) as (keyof typeof now)[]).filter(
      (name) => JSON.stringify(now[name]) !== JSON.stringify(first[name]),
    );
    const changes = Object.fromEntries(names.map((name) => [name, now[name]]));
    if (names.length > 0) await api.send("PATCH", schedulePath(schedule.schedule_id), changes);
    say(names.length > 0 ? "The schedule is changed." : "Nothing was changed.");
    onClose();
  };
  return <ScheduleForm {...{ fields, save, onClose }} action="Change" isNew={false} />;
}

interface FormProps {
  fields: ScheduleFields;
  save: () => Promise<void>;
  /** Text of the button. */
  action: string;
  onClose: () => void;
  isNew: boolean;
}

function ScheduleForm({ fields, save, action, onClose, isNew }: FormProps) {
  const error = useSignal<Error | undefined>(undefined);
  const busy = useSignal(false);
  const preview = usePreview(fields.previewed);
  const ofApi = [...problemsOf(preview.error), ...problemsOf(error.value)];
  const faults = [...new Map([...fields.faults.value, ...ofApi].map((one) => [one.path + one.message, one])).values()];
  const submit = async (event: Event) => {
    event.preventDefault();
    error.value = undefined;
    if (busy.value || fields.faults.value.length > 0) return;
    busy.value = true;
    try {
      await save();
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  return (
    <form class="two-columns" onSubmit={submit} onInput={setting(error, undefined)}>
      <div class="card">
        <RuleFields {...{ fields, faults, isNew }} />
        <TaskFields {...{ fields, faults, isNew }} />
        <SaveFailure of={error.value} />
        <div class="actions">
          <button type="submit" class="primary" disabled={busy.value}>
            {action}
          </button>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
      <Section title="Preview">
        <PreviewOf rule={fields.rule} preview={preview} />
      </Section>
    </form>
  );
}

/** An error of the API, unless each of its faults is shown at its field. */
function SaveFailure({ of }: { of: Error | undefined }) {
  if (of === undefined) return null;
  const faults = problemsOf(of);
  if (faults.length === 0 || !faults.every(isShown)) return <Failure error={of} />;
  return (
    <p class="failure" role="alert">
      The API does not accept the marked fields.
    </p>
  );
}

interface FieldsProps {
  fields: ScheduleFields;
  faults: readonly InputError[];
  isNew: boolean;
}

/** Properties of an input whose value is in a signal. */
const bound = (value: Signal<string>) => ({
  value: value.value,
  onInput: (event: { currentTarget: { value: string } }) => {
    value.value = event.currentTarget.value;
  },
});

const overlaps = [
  ["allow", "allow: each time submits a task"],
  ["skip", "skip: no task while the last one has not ended"],
] as const;

function RuleFields({ fields, faults, isNew }: FieldsProps) {
  const zone = fields.zone.value;
  const zones = useMemo(() => [...new Set([zone, ...zoneNames()])].sort(), []);
  return (
    <>
      {isNew && (
        <Field label="Name" path="/name" faults={faults} hint="Unique in the tenant; it cannot be changed later.">
          {(control) => <input {...control} required autocomplete="off" {...bound(fields.name)} />}
        </Field>
      )}
      <div class="filters">
        <Field label="Rule" path="" faults={[]}>
          {(control) => (
            <select {...control} {...bound(fields.kind)}>
              <option value="cron">cron</option>
              <option value="every">every N minutes</option>
            </select>
          )}
        </Field>
        {fields.kind.value === "cron" ? (
          <Field label="Cron" path="/cron" faults={faults} hint="minute, hour, day of month, month, day of week">
            {(control) => (
              <input {...control} required class="code" autocomplete="off" spellcheck={false} {...bound(fields.cron)} />
            )}
          </Field>
        ) : (
          <Field label="Minutes between two times" path="/every_seconds" faults={faults}>
            {(control) => (
              <input {...control} required type="number" min={1} max={525_600} {...bound(fields.minutes)} />
            )}
          </Field>
        )}
        <Field label="Time zone" path="/timezone" faults={faults}>
          {(control) => (
            <select {...control} {...bound(fields.zone)}>
              <Options of={zones} />
            </select>
          )}
        </Field>
      </div>
      <div class="filters">
        <Field label="Starts" path="/starts_at" faults={faults} hint={`local time in ${zone}`}>
          {(control) => <input {...control} type="datetime-local" {...bound(fields.starts)} />}
        </Field>
        <Field label="Ends before" path="/ends_at" faults={faults} hint={`local time in ${zone}`}>
          {(control) => <input {...control} type="datetime-local" {...bound(fields.ends)} />}
        </Field>
        <Field label="Overlap" path="/overlap" faults={faults}>
          {(control) => (
            <select {...control} {...bound(fields.overlap)}>
              <Options of={overlaps} />
            </select>
          )}
        </Field>
      </div>
    </>
  );
}

function TaskFields({ fields, faults, isNew }: FieldsProps) {
  const types = useTaskTypes();
  const known = types.value?.types ?? [];
  const names = [...new Set([...known.map(({ name }) => name), ...(isNew ? [] : [fields.type.value])])];
  const exampleText = (name: string): string => {
    const schema = known.find((type) => type.name === name)?.input_schema as Schema | undefined;
    return JSON.stringify(exampleOf(schema ?? {}) ?? {}, null, 2);
  };
  const choose = (name: string) => {
    // An input that somebody has written stays.
    const isOwn = fields.input.value !== "{}" && fields.input.value !== exampleText(fields.type.value);
    fields.type.value = name;
    if (!isOwn) fields.input.value = exampleText(name);
  };
  return (
    <>
      {types.error !== undefined && <Failure error={types.error} />}
      <div class="filters">
        <Field label="Type" path="/task/type" faults={faults}>
          {(control) => (
            <select
              {...control}
              required
              value={fields.type.value}
              onChange={(event) => choose(event.currentTarget.value)}
            >
              {isNew && <option value="">choose …</option>}
              <Options of={names} />
            </select>
          )}
        </Field>
        <Field label="Priority" path="/task/priority" faults={faults}>
          {(control) => (
            <select {...control} {...bound(fields.priority)}>
              <option value="">of the type</option>
              <Options of={tiers} />
            </select>
          )}
        </Field>
      </div>
      <Field label="Input as JSON" path="/task/input" faults={faults}>
        {(control) => <textarea {...control} rows={6} spellcheck={false} {...bound(fields.input)} />}
      </Field>
      <Field label="Tags, one a line" path="/task/tags" faults={faults}>
        {(control) => (
          <textarea
            {...control}
            rows={2}
            class="short"
            placeholder="name=value"
            spellcheck={false}
            {...bound(fields.tags)}
          />
        )}
      </Field>
    </>
  );
}
