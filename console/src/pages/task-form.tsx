import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { TypeView } from "../../../src/api/acts/views.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { say } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { api } from "../session.ts";
import { typing } from "../signals.ts";
import { taskPath } from "./task-data.ts";

/** A dialog about a task. */
export interface TaskDialog {
  task: TaskView;
  /** Undefined until the types are read, or when the deployment no longer has the type. */
  type: TypeView | undefined;
  onClose: () => void;
  /** Called after a change of the task. */
  onChange: () => void;
}

/** A dialog that sends one request, and says that it was done. */
export function TaskForm({
  props: { task, onClose, onChange },
  title,
  action,
  danger = false,
  disabled = false,
  part,
  body,
  check = () => {},
  done,
  children,
}: {
  props: TaskDialog;
  title: string;
  action: string;
  danger?: boolean;
  disabled?: boolean;
  /** Path below the task's. */
  part: "/run-now" | "/reschedule" | "/cancel" | "/input" | "/retry" | "/extend" | "/priority" | `/signals/${string}`;
  /** Body of the request. It throws when the entered text cannot be read. */
  body: () => unknown;
  /** Looks at the body before it is sent. It throws when it must not be sent. */
  check?: (body: unknown) => void;
  done: string;
  children: ComponentChildren;
}) {
  const path = taskPath(task.task_id, part);
  const shown = () => {
    try {
      return body();
    } catch {
      return {};
    }
  };
  return (
    <FormDialog
      {...{ title, action, danger, disabled, onClose }}
      run={async () => {
        const whole = body();
        check(whole);
        await api.send("POST", path, whole);
        say(done);
        onChange();
      }}
    >
      {children}
      <Curl of={{ method: "POST", path, body: shown() }} />
    </FormDialog>
  );
}

/** JSON as text whose value is in a signal. */
export const JsonField = ({ label, value, rows }: { label: string; value: Signal<string>; rows: number }) => (
  <label>
    {label}
    <textarea rows={rows} spellcheck={false} value={value.value} onInput={typing(value)} />
  </label>
);
