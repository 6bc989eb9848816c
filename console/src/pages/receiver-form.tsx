import { type Signal, useSignal } from "@preact/signals";
import type { ReceiverView } from "../../../src/api/acts/views.ts";
import { FormDialog } from "../parts/dialog.tsx";
import { TextField } from "../parts/field.tsx";
import { newSecret } from "../parts/new-secret.tsx";
import { api, tenant } from "../session.ts";
import { namesIn } from "./receiver-state.ts";

type Events = ReceiverView["events"];
const allEvents: Events = ["task.completed", "task.failed", "task.cancelled", "task.expired"];

/** A form for a new receiver, whose secret is shown once. */
export const CreateReceiver = ({ onClose }: { onClose: () => void }) => (
  <ReceiverForm
    title={`New receiver of ${tenant.value}`}
    action="Create"
    onClose={onClose}
    send={async (body) => {
      const { secret } = await api.send<{ secret: string }>("POST", "/webhooks", body);
      newSecret.value = { title: "The receiver's secret", note: "The receiver checks signatures with it.", secret };
    }}
  />
);

interface FormProps {
  title: string;
  action: string;
  /** The receiver to change. Default: a new one. */
  before?: ReceiverView;
  send: (body: object) => Promise<unknown>;
  onClose: () => void;
}

export function ReceiverForm({ title, action, before, send, onClose }: FormProps) {
  const url = useSignal(before?.url ?? "");
  const events = useSignal<Events>(before?.events ?? allEvents);
  const types = useSignal(before?.types?.join(" ") ?? "");
  const description = useSignal(before?.description ?? "");
  const run = () =>
    send({
      url: url.value.trim(),
      events: events.value,
      types: namesIn(types.value),
      description: description.value.trim() || null,
    });
  return (
    <FormDialog {...{ title, action, run, onClose }} disabled={events.value.length === 0}>
      <TextField label="URL" value={url} required placeholder="https://shop.example.com/hooks" />
      <Ends value={events} />
      <TextField label="Task types, with spaces between them (empty: all)" value={types} />
      <TextField label="Description" value={description} />
    </FormDialog>
  );
}

/** The ends of tasks that the receiver asks for: at least one. */
const Ends = ({ value }: { value: Signal<Events> }) => (
  <fieldset>
    <legend>Ends of tasks</legend>
    {allEvents.map((event) => (
      <label key={event} class="check">
        <input
          type="checkbox"
          checked={value.value.includes(event)}
          onChange={({ currentTarget: { checked } }) => {
            value.value = allEvents.filter((one) => (one === event ? checked : value.value.includes(one)));
          }}
        />
        {event.replace("task.", "")}
      </label>
    ))}
  </fieldset>
);
