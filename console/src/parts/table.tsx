import type { ComponentChildren } from "preact";

export interface Column<Row> {
  name: string;
  cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right. */
  numeric?: boolean;
}

export interface TableProps<Row> {
  /** Names the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}

/** A table of few rows, which scrolls sideways on narrow screens. */
export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, numeric }) => (
              <th key={name} scope="col" class={numeric ? "number" : undefined}>
                {name === "" ? <span class="for-readers">Actions</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ name, cell, numeric }) => (
                <td key={name} class={numeric ? "number" : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
