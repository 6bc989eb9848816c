import type { Text } from "../../src/api/acts/act.ts";
import { files } from "../../src/api/acts/index.ts";

/* Writes src/api/acts/rows.ts from the acts. `npm run docs:http` calls it, and a unit test compares the file with it. */

const rowOf = ([name, { route, notes = [] }]: [string, Text]): string =>
  `  ${name}: "${[route, ...notes].join(" ")}",
`;

/** The text of src/api/acts/rows.ts. */
export function rowsFile(): string {
  const all = Object.entries(files).flatMap(([file, { texts }]) =>
    Object.entries<Text>(texts).map(([name, text]) => [text.rows ?? file, rowOf([name, text])] as const),
  );
  const tables = [...Map.groupBy(all, ([rows]) => rows)].map(
    ([rows, own]) => `export const ${rows} = {\n${own.map(([, row]) => row).join("")}} as const satisfies Rows;\n`,
  );
  const opening = `import type { Row } from "./row.ts";

/* Written by \`npm run docs:http\` from the acts of this folder. Do not edit. */

type Rows = Readonly<Record<string, Row>>;
`;
  return [opening, ...tables].join("\n");
}
