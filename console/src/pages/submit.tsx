import { useSignal } from "@preact/signals";
import type { TaskView } from "../../../src/core/task-view.ts";
import { tiers } from "../../../src/core/tier.ts";
import type { TypeView } from "../../../src/http/types.ts";
import { useLoad } from "../load.ts";
import { Curl } from "../parts/curl.tsx";
import { ChoiceField, TextField } from "../parts/field.tsx";
import { Answer, Failure, Page } from "../parts/layout.tsx";
import { changeQuery, href, route } from "../route.ts";
import { faultsOf, hasForm, type Schema } from "../schema.ts";
import { api, chosenTenant, tenant } from "../session.ts";
import { InputForm, InputText } from "./submit-input.tsx";

/** Submits a task of a type, by a form of its schema or as JSON. */
export function SubmitPage() {
  const types = useLoad(`types ${tenant.value}`, () => api.get<{ types: TypeView[] }>("/types"));
  const { type: chosen } = route.value.query;
  return (
    <Page title="Submit">
      <Answer of={types}>
        {(answer) => {
          const type = answer.types.find(({ name }) => name === chosen) ?? answer.types[0];
          return (
            <>
              <label>
                Type
                <select value={type?.name} onChange={(event) => changeQuery({ type: event.currentTarget.value })}>
                  {answer.types.map(({ name }) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
                </select>
              </label>
              {type === undefined ? <p>The deployment has no task types.</p> : <TypeForm key={type.name} type={type} />}
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

type Options = ReturnType<typeof useOptions>;

/** @throws Error for tags that cannot be read */
function bodyOf(type: string, input: unknown, { priority, delaySeconds, tags, maxAttempts }: Options) {
  const given = tags.value.split(/[\n,]/).filter((line) => line.trim() !== "");
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
  const input = useSignal<unknown>({});
  const fault = useSignal("");
  const options = useOptions();
  const error = useSignal<Error | undefined>(undefined);
  const busy = useSignal(false);
  const submitted = useSignal<TaskView | undefined>(undefined);
  const submit = async () => {
    busy.value = true;
    error.value = undefined;
    submitted.value = undefined;
    try {
      submitted.value = await api.send<TaskView>("POST", "/tasks", bodyOf(type.name, input.value, options));
    } catch (thrown) {
      error.value = thrown as Error;
    }
    busy.value = false;
  };
  const faults = faultsOf(schema, input.value);
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {type.description && <p>{type.description}</p>}
      {hasForm(schema) && (
        <button
          type="button"
          aria-pressed={asText.value}
          onClick={() => {
            asText.value = !asText.value;
          }}
        >
          {asText.value ? "Fill in a form" : "Write JSON"}
        </button>
      )}
      {asText.value ? (
        <InputText schema={schema} input={input} fault={fault} />
      ) : (
        <InputForm schema={schema} input={input} fault={fault} />
      )}
      {fault.value !== "" && <p class="failure">{fault.value}</p>}
      <OptionFields of={options} />
      <Faults of={faults} />
      {error.value !== undefined && <Failure error={error.value} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={busy.value || fault.value !== ""}>
          Submit
        </button>
        {submitted.value !== undefined && (
          <p role="status">
            Accepted:{" "}
            <a href={href(["tasks", submitted.value.task_id], { tenant: chosenTenant.value })}>open the task</a>
          </p>
        )}
      </div>
      <Curl of={{ method: "POST", path: "/tasks", body: { type: type.name, input: input.value } }} />
    </form>
  );
}

/** What the schema finds, before the API does. The API decides. */
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

const OptionFields = ({ of }: { of: Options }) => (
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
      <TextField label="Tags" value={of.tags} placeholder="order=1234, customer=7" />
    </div>
  </details>
);
