import { present } from "./pipeline-options.ts";

/** Options for what a synthesis cannot see in the code of the task types. Most projects need none of them. */
export interface CodeOptions {
  /**
   * Packages that are copied as they are, in place of being bundled. Offload does so by itself for packages with
   * binaries, and for packages that read files beside their code or load code by a computed name.
   * @default - none
   * @example ["odd-package"]
   */
  readonly external?: readonly string[];
  /**
   * Packages that only data names, such as the target of a pino transport or a view engine: they are copied, although
   * no code imports them.
   * @default - none
   * @example ["pino-pretty"]
   */
  readonly nodeModules?: readonly string[];
  /**
   * Files and folders of the project that the code reads by a computed path. They are copied to the same path. A path
   * starts at the nearest folder above the task files that has a `package.json`. Files that the code names, as in
   * `new URL("./mail.hbs", import.meta.url)`, need no entry.
   * @default - none
   * @example ["templates"]
   */
  readonly assets?: readonly string[];
}

/** The options for the code of the task types, among others. */
export const codeOptionsOf = ({ external, nodeModules, assets }: CodeOptions): CodeOptions =>
  present({ external, nodeModules, assets });
