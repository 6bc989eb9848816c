import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { typing } from "../signals.ts";
import { type Option, Options } from "./options.tsx";

/** An input for text whose value is in a signal. */
export function TextField({
  label,
  value,
  type = "text",
  required,
  placeholder,
  pattern,
  hint,
}: {
  label: string;
  value: Signal<string>;
  type?: "text" | "number" | "datetime-local";
  required?: boolean;
  placeholder?: string;
  pattern?: string;
  hint?: ComponentChildren;
}) {
  return (
    <label>
      {label}
      <input
        type={type as "text"}
        {...{ placeholder, pattern }}
        required={required ?? false}
        autocomplete="off"
        value={value.value}
        onInput={typing(value)}
      />
      {hint !== undefined && <small>{hint}</small>}
    </label>
  );
}

/** A choice whose value is in a signal. */
export function ChoiceField({
  label,
  value,
  options,
}: {
  label: string;
  value: Signal<string>;
  options: readonly Option[];
}) {
  return (
    <label>
      {label}
      <select value={value.value} onChange={typing(value)}>
        <Options of={options} />
      </select>
    </label>
  );
}
