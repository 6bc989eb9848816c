import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { checkExact, parsed } from "../json-text.ts";
import { entryOf, exampleOf, type Schema, startOf } from "../schema.ts";

interface InputProps {
  schema: Schema;
  /** The input as it is entered. */
  input: Signal<unknown>;
  /** Why a text that is entered cannot be read, by the property's name; of the whole input, by the empty name. */
  faults: Signal<InputFaults>;
}

export type InputFaults = Readonly<Record<string, string>>;

/** Reads a text, and keeps why it cannot be read. */
function read(faults: Signal<InputFaults>, name: string, take: () => void): void {
  const { [name]: _, ...others } = faults.value;
  try {
    take();
    faults.value = others;
  } catch (error) {
    faults.value = { ...others, [name]: `${name === "" ? "" : `${name}: `}${(error as Error).message}` };
  }
}

/** The input as JSON text. It begins with an example of the schema. */
export function InputText({ schema, input, faults }: InputProps) {
  const text = useSignal("");
  useEffect(() => {
    const isUntouched = JSON.stringify(input.value) === JSON.stringify(startOf(schema));
    if (isUntouched) input.value = exampleOf(schema) ?? {};
    text.value = JSON.stringify(input.value, null, 2);
    return () => {
      faults.value = {};
    };
  }, []);
  return (
    <label>
      Input as JSON
      <textarea
        rows={12}
        spellcheck={false}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          read(faults, "", () => {
            input.value = parsed(text.value);
          });
        }}
      />
    </label>
  );
}

/** A field for each property of the schema. */
export function InputForm({ schema, input, faults }: InputProps) {
  const change = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = input.value as Record<string, unknown>;
    input.value = value === undefined ? rest : { ...rest, [name]: value };
  };
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <Property
          key={name}
          {...{ name, property, faults }}
          required={schema.required?.includes(name) === true && property.default === undefined}
          value={(input.value as Record<string, unknown>)[name]}
          change={(value) => change(name, value)}
        />
      ))}
    </>
  );
}

interface PropertyProps {
  name: string;
  property: Schema;
  required: boolean;
  value: unknown;
  change: (value: unknown) => void;
  faults: Signal<InputFaults>;
}

function Property({ name, property, required, value, change, faults }: PropertyProps) {
  const entry = entryOf(property);
  const label = (
    <span>
      {property.title ?? name}
      {required ? " (required)" : ""}
      {property.description && <span class="muted"> · {property.description}</span>}
    </span>
  );
  if (entry === "checkbox") {
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={(value ?? property.default) === true}
          onChange={(event) => change(event.currentTarget.checked)}
        />
        {label}
      </label>
    );
  }
  if (entry === "choice") {
    return (
      <label>
        {label}
        <select value={String(value ?? "")} onChange={(event) => change(event.currentTarget.value || undefined)}>
          <option value="">{property.default === undefined ? "" : `default: ${property.default}`}</option>
          {property.enum?.map((option) => (
            <option key={String(option)} value={String(option)}>
              {String(option)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  if (entry === "json") return <JsonProperty {...{ name, property, value, change, faults, label }} />;
  return (
    <label>
      {label}
      <input
        type={entry as "text"}
        step="any"
        value={value === undefined ? "" : String(value)}
        placeholder={property.default === undefined ? "" : String(property.default)}
        min={property.minimum}
        max={property.maximum}
        minLength={property.minLength}
        maxLength={property.maxLength}
        onInput={({ currentTarget: { value: text } }) =>
          read(faults, name, () => {
            if (entry === "number") checkExact(text, Number(text));
            change(text === "" ? undefined : entry === "number" ? Number(text) : text);
          })
        }
      />
    </label>
  );
}

/** A list, a nested object or an alternative, as JSON text. */
function JsonProperty({
  name,
  property,
  value,
  change,
  faults,
  label,
}: Omit<PropertyProps, "required"> & { label: preact.JSX.Element }) {
  const text = useSignal(value === undefined ? "" : JSON.stringify(value, null, 2));
  return (
    <label>
      {label}
      <textarea
        rows={4}
        spellcheck={false}
        placeholder={`JSON, such as ${JSON.stringify(exampleOf(property))}`}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          read(faults, name, () => change(text.value.trim() === "" ? undefined : parsed(text.value)));
        }}
      />
    </label>
  );
}
