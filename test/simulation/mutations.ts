/** A way to break the core on purpose: a snippet of one of its files, and what takes its place. */
export interface Mutation {
  name: string;
  file: string;
  find: string;
  replace: string;
}

/** Each breaks one promise in its own way; the simulation must find every one. */
export const mutations: readonly Mutation[] = [
  {
    name: "submit sends before it writes the record",
    file: "submit.ts",
    find: "  const existing = await orUnavailable(ports.records.create(",
    replace: "  await send(ports, record, envelope);\n  const existing = await orUnavailable(ports.records.create(",
  },
];
