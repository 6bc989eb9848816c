import { localInput } from "../format.ts";
import { changeQuery, route } from "../route.ts";
import { type Option, Options } from "./options.tsx";

interface FilterProps {
  /** Name in the page's URL, which has the value. */
  name: string;
  label: string;
}

/** A filter for text. */
export const TextFilter = ({ name, label, ...input }: FilterProps & { size?: number; placeholder?: string }) => (
  <label>
    {label}
    <input
      {...input}
      value={route.value.query[name] ?? ""}
      onChange={(event) => changeQuery({ [name]: event.currentTarget.value.trim() || undefined })}
    />
  </label>
);

/** A filter with some values, or with none of them. */
export const ChoiceFilter = ({ name, label, values }: FilterProps & { values: readonly string[] }) => (
  <Choice {...{ name, label }} options={[["", "all"], ...values]} />
);

/** A choice whose value is in the page's URL. */
export function Choice({
  name,
  label,
  options,
  value = route.value.query[name] ?? "",
  beside,
}: FilterProps & {
  options: readonly Option[];
  /** Default: as the URL says. */
  value?: string;
  /** True: the label stands beside the choice. */
  beside?: boolean;
}) {
  return (
    <label class={beside ? "beside" : undefined}>
      {label}
      <select value={value} onChange={(event) => changeQuery({ [name]: event.currentTarget.value || undefined })}>
        <Options of={options} />
      </select>
    </label>
  );
}

/** A filter for a time, which the URL has in UTC and the field in the browser's zone. */
export const TimeFilter = ({ name, label }: FilterProps) => (
  <label>
    {label}
    <input
      type="datetime-local"
      value={localInput(route.value.query[name])}
      onChange={({ currentTarget: { value } }) =>
        changeQuery({ [name]: value === "" ? undefined : new Date(value).toISOString() })
      }
    />
  </label>
);
