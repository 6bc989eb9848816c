import type * as z from "zod";
import type { ProblemCode } from "../../core/model/problem.ts";
import type { Identity, Role } from "../../core/model/words.ts";
import { wholeDeployment } from "../../core/ports/audit.ts";
import type { Note, Row } from "./row.ts";

/*
 * An act has the shape *find, check, act, show*. A file of this folder has the acts on things of one kind: `acts` for
 * the server, and `texts` for the document, its page and the commands. They are apart, as no function loads the texts.
 * `npm run docs:http` writes `rows.ts` from the texts: every function loads the rows, and one the acts.
 */

/** A request, apart from its target and its body. */
export interface Asked {
  by: Identity;
  /** The named parts of the path. */
  params: Readonly<Record<string, string>>;
  correlationId: string;
  traceparent: string | undefined;
  /** Adds to the target of the request's entry in the audit, before the change. */
  addTarget: (more: Readonly<Record<string, string>>) => Promise<void>;
}

/** An answer. Without `json` it has no body. */
export interface Answer {
  json?: unknown;
  /** Default: 200, or 204 without a body. */
  status?: 200 | 201 | 202 | undefined;
  headers?: Readonly<Record<string, string>>;
}

/** Returns what the path names. @throws Problem `not_found` */
export type Find<Ports, Target> = (ports: Ports, asked: Asked) => Target | Promise<Target>;

/** An act, as the server performs it. */
export interface Act<Ports, Target = unknown, Schema extends z.ZodType = z.ZodType> {
  /** The lowest role. Default: submitter. */
  role?: Role;
  /** `all`: an admin may ask for all tenants. */
  reach?: "all";
  find: Find<Ports, Target>;
  /** Absent: the body of a POST is empty. */
  body?: Schema;
  /** True: a request without a body counts as one with an empty object. */
  bodyOptional?: true;
  /** True: `run` gets the body as it came, and checks it. */
  isCheckedByRun?: true;
  /** The lowest role for this body, where it asks for more than others. */
  roleFor?(body: z.output<Schema>): Role;
  run(ports: Ports, target: Target, body: z.output<Schema>, asked: Asked): Answer | Promise<Answer>;
}

type Defaults<Ports, Target> = Pick<Act<Ports, Target>, "find" | "role" | "reach">;

/** Returns a function that makes acts on things of one kind, which are found in one way. */
export const on =
  <Ports, Target>(defaults: Defaults<Ports, Target>) =>
  <Schema extends z.ZodType = z.ZodVoid>(
    act: Partial<Defaults<Ports, Target>> & Omit<Act<Ports, Target, Schema>, "find">,
  ): Act<Ports, Target, Schema> => ({ ...defaults, ...act });

/** A part of the document. */
export type Tag = "tasks" | "schedules" | "dead letters" | "operations" | "webhooks" | "flow" | "tenants" | "service";

/** Names of headers. */
type Headers = readonly string[];

/** An answer in the document: the name of its schema, its meaning, its headers, and headers that some have. */
export type Meaning = readonly [schema: string, text: string, headers?: Headers, optionalHeaders?: Headers];

/** A command for an act on one thing, which takes a value and shows the answer. */
export interface CommandText {
  name: string;
  description: string;
  /** `<argument>`, or `--option <value>`, which is required. */
  takes: string;
  /** Meaning of the value. */
  value: string;
  /** The values that are allowed, or the largest number. */
  among: readonly string[] | number;
  /** Method of `Client` or `Operations`. */
  call: string;
}

/** The description of an act for the document, its page and the command line. */
export interface Text<Schema extends z.ZodType = z.ZodType> {
  /** Its row of the table of routes, with `notes`. */
  route: Row;
  notes?: readonly Note[];
  /** Name of its rows. Default: that of the file. Rows with a name of their own stand apart in the document's order. */
  rows?: string;
  /** Default: that of the file's other acts. */
  tag?: Tag;
  summary: string;
  /** Parts of it are joined. No expression, which a bundle would keep. */
  description?: string | readonly string[];
  /** Name of the body's schema in the document. */
  body?: string;
  /** Parts of the body with a name of their own in the document. */
  parts?(body: Schema): Readonly<Record<string, z.ZodType>>;
  /** Meanings of the body's fields, where the schema says none: functions load that. */
  fields?: { readonly [Name in keyof z.input<Schema>]?: string };
  example?: z.input<Schema>;
  /** Answers by status. A text alone: the task. The default of headers is `Cache-Control`. */
  answers: Readonly<Partial<Record<200 | 201 | 202, Meaning | string>>> | Readonly<Record<204, string>>;
  /** Problems in addition to those of each request that has a body of this kind. */
  problems?: readonly ProblemCode[];
  command?: CommandText;
}

/** A text for each act, with the name of its body where it has one. */
export type TextsOf<Acts> = {
  // biome-ignore lint/suspicious/noExplicitAny: each act has ports and a target of its own
  readonly [Name in keyof Acts]: Acts[Name] extends Act<any, any, infer Schema>
    ? Schema extends z.ZodVoid
      ? Omit<Text, "body" | "parts" | "fields" | "example">
      : Text<Schema> & { body: string }
    : never;
};

/** True when an admin asks for all tenants. No tenant has this id, so no key of the table has it by mistake. */
export const isForAll = ({ tenantId }: Identity): boolean => tenantId === wholeDeployment;

/** True when a text has the form of an id of a task, operation or schedule. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
