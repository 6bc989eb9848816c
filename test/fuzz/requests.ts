import { generateKeyPairSync } from "node:crypto";
import type { ApiRoute } from "../../src/api/http/routes.ts";
import type { Dice } from "../simulation/dice.ts";
import { type Caller, secretOf } from "./owners.ts";
import { type Known, type Schema, Values } from "./values.ts";
import { type Answer, callers, documentOfWorld, type Sent, tenants, typeNames } from "./world.ts";

interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  schema: Schema;
}

interface Described {
  parameters: (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** The id of nothing: a UUID made from dice. */
const foreignId = (dice: Dice): string =>
  "########-####-4###-8###-############".replaceAll("#", () => dice.int(0, 15).toString(16));

/** The document as clients read it. */
const { components, paths } = JSON.parse(JSON.stringify(documentOfWorld)) as {
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
  paths: Record<string, Record<string, Described>>;
};

const parametersOf = ({ parameters }: Described): Parameter[] =>
  parameters.map((one) =>
    "$ref" in one ? (components.parameters[one.$ref.split("/").at(-1) ?? ""] as Parameter) : one,
  );

const jwk = generateKeyPairSync("x25519").publicKey.export({ format: "jwk" });

/** Names of fields whose values answers have, under which requests may send them. */
const idNames = /"(task|schedule|operation|webhook|key|upload)_id":"([\w-]+)"/g;

/** The latest ids that were given to each tenant, by the kind of what they name. */
class Ids {
  readonly #ids = new Map<string, string[]>();

  add(tenant: string, text: string): void {
    for (const [, kind = "", id = ""] of text.matchAll(idNames)) {
      const own = this.#ids.get(`${tenant} ${kind}`) ?? [];
      if (own.at(-1) !== id) own.push(id);
      this.#ids.set(`${tenant} ${kind}`, own.slice(-20));
    }
  }

  of(tenant: string, kind: string): readonly string[] {
    return this.#ids.get(`${tenant} ${kind}`) ?? [];
  }
}

/** Makes requests for every operation of the document, by every role. */
export class Requests {
  readonly #dice: Dice;
  readonly #ids = new Ids();
  /** API keys that the API made, and cursors, by the tenant that got them. */
  readonly #made: Caller[] = [];
  readonly #cursors: string[] = [];
  #number = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** A request for one operation. */
  next(route: ApiRoute): Sent {
    const dice = this.#dice;
    const [first] = this.#made;
    const caller = first !== undefined && dice.chance(0.05) ? dice.pick([first, ...this.#made]) : this.#caller();
    const isAboutTenant = route.path.includes("{tenant_id}");
    const tenant = this.#tenant(caller, isAboutTenant);
    const operation = paths[route.path]?.[route.method.toLowerCase()] as Described;
    const odd = dice.pick([0, 0, 0, 0.02, 0.1]);
    const values = new Values(dice, components.schemas, this.#known(caller, tenant), odd);
    const { path, query, headers } = this.#filled(route, parametersOf(operation), values);
    if (tenant !== undefined && !isAboutTenant) query.set("tenant", tenant);
    const body = operation.requestBody === undefined ? undefined : this.#body(operation, values);
    if (body !== undefined) headers["content-type"] = body.type;
    return { method: route.method, path, query: query.toString(), headers, body: body?.text ?? "", caller };
  }

  /** Fills in all parameters of the path, and some of the others. */
  #filled(route: ApiRoute, parameters: readonly Parameter[], values: Values) {
    const dice = this.#dice;
    const query = new URLSearchParams();
    const headers: Record<string, string> = {};
    let path: string = route.path;
    for (const one of parameters) {
      const { name, in: where } = one;
      if (name === "tenant" || (one.required !== true && !dice.chance(0.2))) continue;
      const text = textOf(one, values);
      if (where === "path") path = path.replace(`{${name}}`, () => encodeURIComponent(text));
      else if (where === "header") headers[name.toLowerCase()] = headerText(text);
      else query.set(name === "tags" ? dice.pick(["tag.a", "tag.order"]) : name, text);
    }
    return { path, query, headers };
  }

  /** Learns the ids, cursors and keys of an answer. */
  learn({ caller, query }: Sent, { text }: Answer): void {
    if (caller.tenant === undefined) return;
    const named = new URLSearchParams(query).get("tenant") ?? caller.tenant;
    const tenant = tenants.find((one) => one === named) ?? caller.tenant;
    this.#ids.add(tenant, text);
    for (const [, cursor = ""] of text.matchAll(/"next_cursor":"([^"]+)"/g)) this.#cursors.push(cursor);
    this.#cursors.splice(0, this.#cursors.length - 30);
    const made = /"tenant_id":"(acme|globex)","role":"(\w+)".*"key":"(ofl_\w+)"/.exec(text);
    if (made === null) return;
    const [, owner = "", role, token = ""] = made;
    // A submitter of a name of its own.
    const name = role === "submitter" ? `sub${this.#made.length + 3}` : String(role);
    this.#made.push({ name, token, tenant: owner, role: role as "submitter" });
    this.#made.splice(0, this.#made.length - 6);
  }

  #caller(): Caller {
    if (this.#dice.chance(0.05)) return this.#dice.pick(callers);
    const role = this.#dice.pick(["admin", "admin", "operator", "operator", "submitter"]);
    return this.#dice.pick(callers.filter((caller) => caller.role === role) as [Caller]);
  }

  /** The tenant that a request names. Undefined: none. */
  #tenant({ role }: Caller, isInPath: boolean): string | undefined {
    if (isInPath) return role === "admin" ? this.#dice.pick(tenants) : undefined;
    if (!this.#dice.chance(role === "admin" ? 0.4 : 0.03)) return undefined;
    return this.#dice.pick(["acme", "globex", "globex", "acme", "*", "nobody"]);
  }

  #known(caller: Caller, inTenant: string | undefined): Known {
    const dice = this.#dice;
    const own = tenants.find((one) => one === inTenant) ?? caller.tenant ?? tenants[0];
    const secretTenant = inTenant === "*" ? "all" : (inTenant ?? own);
    const ofCaller = caller.role === "admin" ? { ...caller, tenant: secretTenant } : caller;
    const secret = () => secretOf(ofCaller, this.#number++ % 10_000);
    const other = tenants.find((tenant) => tenant !== own) ?? own;
    const id = (kind: string): string => {
      const ids = this.#ids.of(dice.chance(0.75) ? own : other, kind);
      if (ids.length === 0 || dice.chance(0.05)) return foreignId(dice);
      return dice.pick(ids as [string]);
    };
    const named: Record<string, () => unknown> = {
      ...Object.fromEntries(
        ["task", "schedule", "operation", "webhook", "key", "upload"].map((kind) => [`${kind}_id`, () => id(kind)]),
      ),
      task_ids: () => Array.from({ length: dice.int(1, 3) }, () => id("task")),
      files: () => (dice.chance(0.5) ? { data: id("upload") } : {}),
      tenant_id: () => inTenant ?? dice.pick(tenants),
      type: () => dice.pick(typeNames as [string]),
      types: () => (dice.chance(0.5) ? null : [dice.pick(typeNames as [string])]),
      name: () => dice.pick([secret(), "approved", "approved"]),
      url: () => `https://hooks.example/${secret()}`,
      cron: () => dice.pick(["0 * * * *", "*/5 9-17 * * MON-FRI"]),
      every_seconds: () => dice.pick([60, 3_600, 86_400]),
      timezone: () => dice.pick(["UTC", "Europe/Berlin"]),
      cursor: () => (this.#cursors.length === 0 ? undefined : dice.pick(this.#cursors as [string])),
      result_key: () => (dice.chance(0.7) ? jwk : { ...jwk, x: "AAAA" }),
      wait: () => String(dice.int(1, 3)),
      Prefer: () => "wait=2",
      "Idempotency-Key": () => `${secret()}-${dice.int(0, 3)}`.slice(0, -dice.int(0, 2)),
      "X-Correlation-Id": secret,
      traceparent: () => "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    return { secret, named: (name) => (Object.hasOwn(named, name) ? named[name]?.() : undefined) };
  }

  #body({ requestBody }: Described, values: Values): { type: string; text: string } {
    const dice = this.#dice;
    const schema = requestBody?.content["application/json"]?.schema ?? {};
    const fitting = JSON.stringify(values.of(schema)) ?? "";
    const json = "application/json";
    if (requestBody?.content["multipart/form-data"] !== undefined && dice.chance(0.15))
      return this.#form(fitting, values.known);
    if (dice.chance(0.95)) return { type: json, text: Buffer.from(fitting).toString("latin1") };
    return dice.pick([
      { type: json, text: "" },
      { type: json, text: fitting.slice(0, dice.int(0, fitting.length)) },
      { type: json, text: `{"type":"any","input":[${dice.pick(["1e400", "12345678901234567890", "-0", "1e-400"])}]}` },
      { type: json, text: `{"a":${"[".repeat(200)}${"]".repeat(200)}}` },
      { type: json, text: `{"type":"any","input":"${"x".repeat(1_050_000)}"}` },
      { type: json, text: "\xff\xfe{}" },
      { type: "text/plain", text: fitting },
      { type: "multipart/form-data; boundary=b", text: fitting },
    ]);
  }

  /** A submit with a file. */
  #form(task: string, { secret }: Known): { type: string; text: string } {
    const part = (disposition: string, text: string) =>
      `--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${text}\r\n`;
    const input = this.#dice.chance(0.3) ? task : `{"type":"file","input":"${secret()}"}`;
    const file = secret();
    const text = `${part('name="task"', input)}${part(`name="data"; filename="${file}.txt"`, file)}--b--\r\n`;
    return { type: "multipart/form-data; boundary=b", text: Buffer.from(text).toString("latin1") };
  }
}

/** The value of a parameter. The secrets of an admin's request name the tenant that it is about, so that it is never odd. */
function textOf({ name, schema }: Parameter, values: Values): string {
  const known = name === "tags" ? values.known.secret() : name === "tenant_id" ? values.known.named(name) : undefined;
  const given = known ?? values.of(schema, name);
  return (typeof given === "string" ? given : JSON.stringify(given)).toWellFormed();
}

/** A value as a header can have it. */
const headerText = (value: string): string => value.replaceAll(/[^\x20-\x7e]/g, "?");
