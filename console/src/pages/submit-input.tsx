import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { entryOf, exampleOf, type Schema } from "../schema.ts";

interface InputProps {
  schema: Schema;
  /** The input as it is entered. */
  input: Signal<unknown>;
  /** Why the entered text is no JSON. Empty: it is. */
  fault: Signal<string>;
}

/** The input as JSON text. It begins with an example of the schema. */
export function InputText({ schema, input, fault }: InputProps) {
  const text = useSignal("");
  useEffect(() => {
    const isEmpty = Object.keys(Object(input.value)).length === 0;
    if (isEmpty) input.value = exampleOf(schema) ?? {};
    text.value = JSON.stringify(input.value, null, 2);
    return () => {
      fault.value = "";
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
          try {
            input.value = JSON.parse(text.value);
            fault.value = "";
          } catch (error) {
            fault.value = `This is not JSON: ${(error as Error).message}`;
          }
        }}
      />
    </label>
  );
}

/** A field for each property of the schema. */
export function InputForm({ schema, input, fault }: InputProps) {
  const change = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = input.value as Record<string, unknown>;
    input.value = value === undefined ? rest : { ...rest, [name]: value };
  };
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <Property
          key={name}
          {...{ name, property, fault }}
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
  fault: Signal<string>;
}

function Property({ name, property, required, value, change, fault }: PropertyProps) {
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
        <input type="checkbox" checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />
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
  if (entry === "json") return <JsonProperty {...{ name, property, value, change, fault, label }} />;
  return (
    <label>
      {label}
      <input
        type={entry as "text"}
        step="any"
        value={value === undefined ? "" : String(value)}
        placeholder={property.default === undefined ? "" : String(property.default)}
        onInput={({ currentTarget: { value: text } }) =>
          change(text === "" ? undefined : entry === "number" ? Number(text) : text)
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
  fault,
  label,
}: Omit<PropertyProps, "required"> & { label: preact.JSX.Element }) {
  const text = useSignal(value === undefined ? "" : JSON.stringify(value, null, 2));
  return (
    <label>
      {label}
      <textarea
        rows={4}
        spellcheck={false}
        placeholder={JSON.stringify(exampleOf(property))}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          try {
            change(text.value.trim() === "" ? undefined : JSON.parse(text.value));
            fault.value = "";
          } catch (error) {
            fault.value = `${name} is not JSON: ${(error as Error).message}`;
          }
        }}
      />
    </label>
  );
}
