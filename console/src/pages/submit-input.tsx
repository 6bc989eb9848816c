import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { checkExact, parsed } from "../json-text.ts";
import { type Entry, emptyOf, entryOf, exampleOf, isNullable, type Schema, startOf, withoutNull } from "../schema.ts";

interface InputProps {
  schema: Schema;
  /** The input as it is entered. */
  input: Signal<unknown>;
  /**
   * The reason why a text that is entered cannot be read, by the property's name; of the whole input, by the empty
   * name.
   */
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
      {Object.entries(schema.properties ?? {}).map(([name, property]) => {
        const required = schema.required?.includes(name) === true && property.default === undefined;
        return (
          <Property
            key={name}
            {...{ name, faults }}
            property={withoutNull(property)}
            entry={entryOf(property)}
            required={required && !isNullable(property)}
            value={(input.value as Record<string, unknown>)[name]}
            change={(value) => change(name, value === undefined ? emptyOf(property, required) : value)}
          />
        );
      })}
    </>
  );
}

interface PropertyProps {
  name: string;
  property: Schema;
  entry: Entry;
  required: boolean;
  /** Undefined or null: the field is empty. */
  value: unknown;
  change: (value: unknown) => void;
  faults: Signal<InputFaults>;
}

function Property({ name, property, entry, required, value, change, faults }: PropertyProps) {
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
  const field = { name, property, value, change, faults, label };
  return entry === "json" ? <JsonProperty {...field} /> : <TextProperty {...field} type={entry} />;
}

type FieldProps = Omit<PropertyProps, "required" | "entry"> & { label: preact.JSX.Element };

/** A text or a number. The field keeps what is entered, also what cannot be read. */
function TextProperty({
  name,
  property,
  value,
  change,
  faults,
  label,
  type,
}: FieldProps & { type: "text" | "number" }) {
  const text = useSignal(value == null ? "" : String(value));
  return (
    <label>
      {label}
      <input
        type={type as "text"}
        step="any"
        value={text.value}
        placeholder={property.default === undefined ? "" : String(property.default)}
        min={property.minimum}
        max={property.maximum}
        minLength={property.minLength}
        maxLength={property.maxLength}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          read(faults, name, () => {
            if (type === "number") checkExact(text.value, Number(text.value));
            change(text.value === "" ? undefined : type === "number" ? Number(text.value) : text.value);
          });
        }}
      />
    </label>
  );
}

/** A list, a nested object or an alternative, as JSON text. */
function JsonProperty({ name, property, value, change, faults, label }: FieldProps) {
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
