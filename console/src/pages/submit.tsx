import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { TypeView } from "../../../src/api/acts/views.ts";
import { ConnectionError } from "../../../src/client/errors.ts";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { tiers } from "../../../src/core/model/words.ts";
import { rest } from "../parts/action.tsx";
import { Curl } from "../parts/curl.tsx";
import { ChoiceField, TextField } from "../parts/field.tsx";
import { Answer, Failure, Nothing, Page } from "../parts/layout.tsx";
import { Options } from "../parts/options.tsx";
import { changeQuery, href, route } from "../route.ts";
import { faultsOf, fitsForm, hasForm, type Schema, startOf } from "../schema.ts";
import { api, chosenTenant } from "../session.ts";
import { setting, typing } from "../signals.ts";
import { useTaskTypes } from "../task-types.ts";
import { type InputFaults, InputForm, InputText } from "./submit-input.tsx";

/** Submits a task of a type, by a form of its schema or as JSON. */
export function SubmitPage() {
  const types = useTaskTypes();
  const { type: chosen } = route.value.query;
  return (
    <Page title="Submit">
      <Answer of={types}>
        {(answer) => {
          const type = chosen === undefined ? answer.types[0] : answer.types.find(({ name }) => name === chosen);
          return (
            <>
              <label>
                Type
                <select value={type?.name ?? ""} onChange={(event) => changeQuery({ type: event.currentTarget.value })}>
                  {type === undefined && <option value="">choose …</option>}
                  <Options of={answer.types.map(({ name }) => name)} />
                </select>
              </label>
              {type === undefined ? (
                <Nothing>
                  {chosen === undefined
                    ? "The deployment has no task types."
                    : `There is no task type ${chosen.slice(0, 64)}.`}
                </Nothing>
              ) : (
                <TypeForm key={type.name} type={type} />
              )}
            </>
          );
        }}
      </Answer>
    </Page>
  );
}

/** The fields of a submit besides its input. */
function useOptions() {
  return {
    priority: useSignal(""),
    delaySeconds: useSignal(""),
    tags: useSignal(""),
    maxAttempts: useSignal(""),
  };
}

type SubmitOptions = ReturnType<typeof useOptions>;

/** @throws Error for tags that cannot be read */
function bodyOf(type: string, input: unknown, { priority, delaySeconds, tags, maxAttempts }: SubmitOptions) {
  const given = tags.value.split("\n").filter((line) => line.trim() !== "");
  const pairs = given.map((line) => {
    const [name = "", value] = line.trim().split(/=(.*)/s);
    if (value === undefined) throw new Error(`Tags: expected name=value, got ${line}`);
    return [name, value];
  });
  return {
    type,
    input,
    ...(priority.value !== "" && { priority: priority.value }),
    ...(delaySeconds.value !== "" && { delay_seconds: Number(delaySeconds.value) }),
    ...(maxAttempts.value !== "" && { max_attempts: Number(maxAttempts.value) }),
    ...(pairs.length > 0 && { tags: Object.fromEntries(pairs) as Record<string, string> }),
  };
}

function TypeForm({ type }: { type: TypeView }) {
  const schema = (type.input_schema ?? {}) as Schema;
  const asText = useSignal(!hasForm(schema));
  const input = useSignal<unknown>(startOf(schema));
  const inputFaults = useSignal<InputFaults>({});
  const isTouched = useSignal(false);
  const sent = useRef({ content: "", key: "" });
  const options = useOptions();
  const error = useSignal<Error | undefined>(undefined);
  const busy = useSignal(false);
  const submitted = useSignal<TaskView | undefined>(undefined);
  const submit = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    submitted.value = undefined;
    try {
      const body = bodyOf(type.name, input.value, options);
      const content = JSON.stringify(body);
      // The same content after an answer that was lost is the same task.
      if (sent.current.content !== content) sent.current = { content, key: crypto.randomUUID() };
      submitted.value = await api.submit<TaskView>(body, sent.current.key);
      sent.current = { content: "", key: "" };
      await rest();
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  const shownBody = () => {
    try {
      return bodyOf(type.name, input.value, options);
    } catch {
      return { type: type.name, input: input.value };
    }
  };
  const unread = Object.values(inputFaults.value);
  const canFill = unread.length === 0 && fitsForm(schema, input.value);
  const faults = faultsOf(schema, input.value);
  return (
    <form
      class="card"
      onInput={setting(isTouched, true)}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {type.description && <p>{type.description}</p>}
      {hasForm(schema) && (
        <button
          type="button"
          disabled={!canFill}
          onClick={() => {
            asText.value = !asText.value;
          }}
        >
          {asText.value ? "Fill in a form" : "Write JSON"}
        </button>
      )}
      {hasForm(schema) && asText.value && !canFill && <p class="muted">This input does not fit the form's fields.</p>}
      {asText.value ? (
        <InputText schema={schema} input={input} faults={inputFaults} />
      ) : (
        <InputForm schema={schema} input={input} faults={inputFaults} />
      )}
      {unread.map((text) => (
        <p key={text} class="failure">
          {text}
        </p>
      ))}
      <OptionFields of={options} />
      {isTouched.value && <Faults of={faults} />}
      {error.value !== undefined && <Failure error={error.value} />}
      {error.value instanceof ConnectionError && (
        <p>The task may have been accepted. To submit the same again is safe: it is accepted once.</p>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={busy.value || unread.length > 0}>
          Submit
        </button>
        {submitted.value !== undefined && (
          <p role="status">
            Accepted:{" "}
            <a href={href(["tasks", submitted.value.task_id], { tenant: chosenTenant.value })}>open the task</a>
          </p>
        )}
      </div>
      <Curl of={{ method: "POST", path: "/tasks", body: shownBody() }} />
    </form>
  );
}

/** Faults that the schema finds before the API does. The API decides. */
const Faults = ({ of }: { of: readonly { path: string; message: string }[] }) =>
  of.length === 0 ? null : (
    <div class="muted">
      <p>The schema does not accept this input yet:</p>
      <ul>
        {of.slice(0, 10).map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            <code>{path}</code> {message}
          </li>
        ))}
      </ul>
    </div>
  );

const OptionFields = ({ of }: { of: SubmitOptions }) => (
  <details>
    <summary>Options</summary>
    <div class="filters">
      <ChoiceField
        label="Priority"
        value={of.priority}
        options={[["", "of the type"], ...tiers.map((tier) => [tier, tier] as const)]}
      />
      <TextField label="Delay in seconds" value={of.delaySeconds} type="number" />
      <TextField label="Most attempts" value={of.maxAttempts} type="number" />
      <label>
        Tags, one a line
        <textarea
          rows={2}
          spellcheck={false}
          placeholder="order=1234"
          value={of.tags.value}
          onInput={typing(of.tags)}
        />
      </label>
    </div>
  </details>
);
