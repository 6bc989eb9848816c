import { useSignal } from "@preact/signals";
import { parsed } from "../json-text.ts";
import { useLoad } from "../load.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Text } from "../parts/text.tsx";
import { exampleOf, faultsOf, type Schema } from "../schema.ts";
import { api, tenant } from "../session.ts";
import { taskPath } from "./task-data.ts";
import { JsonField, type TaskDialog, TaskForm } from "./task-form.tsx";

/** Starts a new round of a failed task with another input. */
export function ReplayDialog(props: TaskDialog) {
  const { task, type, onClose } = props;
  const input = useLoad(`input to edit ${task.task_id} ${tenant.value}`, (signal) =>
    api.get<{ input: unknown }>(taskPath(task.task_id, "/input"), undefined, { signal }),
  );
  if (input.loading && input.value === undefined) {
    return (
      <Dialog title="Edit the input and replay" onClose={onClose}>
        <p role="status">Reading the input …</p>
      </Dialog>
    );
  }
  const example = type === undefined ? {} : exampleOf(type.input_schema as Schema);
  const start = input.value === undefined ? example : input.value.input;
  return <ReplayForm {...{ props, start, problem: input.value === undefined ? input.error : undefined }} />;
}

interface Fault {
  path: string;
  message: string;
}

function ReplayForm({ props, start, problem }: { props: TaskDialog; start: unknown; problem: Error | undefined }) {
  const text = useSignal(JSON.stringify(start, null, 2) ?? "{}");
  const faults = useSignal<{ of: string; list: readonly Fault[] }>({ of: "", list: [] });
  const shown = faults.value.of === text.value ? faults.value.list : [];
  const schema = props.type?.input_schema as Schema | undefined;
  const check = () => {
    const list = schema === undefined ? [] : faultsOf(schema, parsed(text.value));
    faults.value = { of: text.value, list: list.map(({ path, message }) => ({ path: inputPath(path), message })) };
    if (list.length > 0) throw new Error("The type does not accept this input, so it was not sent.");
  };
  return (
    <TaskForm
      {...{ props, check, part: "/retry" }}
      title="Edit the input and replay"
      action="Replay"
      body={() => ({ input: parsed(text.value) })}
      done="The task starts a new round with the new input."
    >
      <p>
        The task starts a new round with this input. The old input is replaced permanently; the attempts so far stay in
        the history.
      </p>
      {problem !== undefined && (
        <p class="muted">
          The text begins with an example, because the input could not be read: <Text of={problem.message} />
        </p>
      )}
      {schema === undefined && (
        <p class="muted">The deployment does not list this type, so only the API checks the input.</p>
      )}
      <JsonField label="Input as JSON" value={text} rows={12} />
      {shown.length > 0 && (
        <ul class="faults">
          {shown.slice(0, 20).map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> <Text of={message} />
            </li>
          ))}
        </ul>
      )}
    </TaskForm>
  );
}

/** A place in the input as the API names it. */
const inputPath = (path: string): string => `/input${path === "/" ? "" : path}`;
