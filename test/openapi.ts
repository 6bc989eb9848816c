import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenApiDocument } from "../src/api/openapi/document.ts";
import { startOwnServer } from "./support/local-server.ts";

/*
 * Sends requests that Schemathesis derives from the OpenAPI document to a local server, and compares the answers with the
 * document: `npm run test:openapi`. The tools are Python packages, in a virtual environment of their own.
 * OFFLOAD_OPENAPI_SECONDS   time of the first run; default: 60
 * OFFLOAD_OPENAPI_SEED      default: another one each time, which the output names
 */

const tools = ".venv-schemathesis";
const packages = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"];
const tool = (name: string): string => join(tools, "bin", name);

/** Runs a command with this terminal's output. Returns true when it succeeds. */
const run = (command: string, args: readonly string[], cwd = "."): boolean =>
  spawnSync(command, args, { cwd, stdio: "inherit", timeout: 900_000 }).status === 0;

function installed(): boolean {
  if (existsSync(tool("schemathesis")) && existsSync(tool("openapi-spec-validator"))) return true;
  const made = run("python3", ["-m", "venv", tools]) && run(tool("pip"), ["install", "--quiet", ...packages]);
  if (!made) rmSync(tools, { recursive: true, force: true });
  return made;
}

/**
 * No 5xx, every answer as documented, and none without a token. Left out: checks that the API refuses what the document
 * forbids. They fail where Schemathesis reads a format, such as that of an e-mail address, more strictly than zod.
 */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "ignored_auth",
].join(",");

/** Task types that would keep the workers of this machine busy for minutes. */
const heavy = ["probe.crash", "probe.sleep"];

/** Values of parameters of paths: what is paused must not keep all other requests' tasks from running. */
const narrowParameters: Readonly<Record<string, object>> = {
  tier: { enum: ["low", "none"] },
  type: { enum: ["probe.rated", "none"] },
  tenant_id: { enum: ["globex", "none"] },
};

interface Described {
  parameters: { name?: string; in?: string; schema: object }[];
}

/**
 * Narrows the document, so that more requests reach what earlier ones have made: one tenant, no heavy task types, and a
 * schedule that submits a type that exists.
 */
function narrowed(document: OpenApiDocument): OpenApiDocument {
  const copy = structuredClone(document) as unknown as {
    components: {
      parameters: { tenant: { schema: object } };
      schemas: Record<"NewScheduleByCron" | "NewScheduleByInterval", { properties: object }>;
    };
    paths: Record<"/tasks" | "/schedules", { post: { requestBody: { content: { "application/json": Media } } } }>;
  };
  const submit = copy.paths["/tasks"].post.requestBody.content["application/json"];
  submit.schema = {
    oneOf: submit.schema.oneOf?.filter(({ $ref }) => !heavy.some((name) => $ref.includes(`${name}.`))),
  };
  copy.components.parameters.tenant.schema = { const: "acme" };
  for (const operation of Object.values(copy.paths).flatMap((path) => Object.values(path) as unknown as Described[])) {
    for (const parameter of operation.parameters) {
      const narrow = parameter.in === "path" ? narrowParameters[parameter.name ?? ""] : undefined;
      if (narrow !== undefined) parameter.schema = narrow;
    }
  }
  const schedule = copy.paths["/schedules"].post.requestBody.content["application/json"];
  schedule.example = { name: "hourly", cron: "0 * * * *", task: { type: "probe.echo", input: { value: 1 } } };
  const { NewScheduleByCron: byCron, NewScheduleByInterval: byInterval } = copy.components.schemas;
  for (const { properties } of [byCron, byInterval]) {
    Object.assign(properties, {
      timezone: { enum: ["UTC", "Europe/Berlin", "Nowhere"] },
      task: { const: schedule.example.task },
    });
  }
  Object.assign(byCron.properties, { cron: { enum: ["0 2 * * *", "*/5 9-17 * * MON-FRI", "nonsense"] } });
  return copy as unknown as OpenApiDocument;
}

interface Media {
  schema: { oneOf?: { $ref: string }[] | undefined };
  example?: { task: object; [field: string]: unknown };
}

/** Longer than the longest answer: `?wait=` holds a request for up to 20 s. */
const requestTimeoutSeconds = 40;

/** Runs Schemathesis as one caller for a time. Its folder is temporary, because it leaves files there. */
function fuzz(folder: string, url: string, token: string, seconds: number): boolean {
  const seed = process.env.OFFLOAD_OPENAPI_SEED;
  console.log(`\nSchemathesis as ${token}, for ${seconds} s`);
  return run(
    join(process.cwd(), tool("schemathesis")),
    [
      ...["run", "openapi.json", "--url", url, "--header", `Authorization: Bearer ${token}`],
      ...["--checks", checks, "--max-time", String(seconds), "--workers", "1", "--continue-on-failure"],
      ...[
        "--request-timeout",
        String(requestTimeoutSeconds),
        "--warnings",
        "off",
        ...(seed === undefined ? [] : ["--seed", seed]),
      ],
    ],
    folder,
  );
}

async function main(): Promise<number> {
  if (!installed()) {
    console.log(
      "\n!!! SCHEMATHESIS COULD NOT BE INSTALLED: THE OPENAPI DOCUMENT WAS NOT TESTED AGAINST THE SERVER !!!\n",
    );
    return 0;
  }
  const seconds = Number(process.env.OFFLOAD_OPENAPI_SECONDS ?? 60);
  const folder = mkdtempSync(join(tmpdir(), "offload-openapi-"));
  const server = await startOwnServer({});
  try {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as OpenApiDocument;
    const file = join(folder, "openapi.json");
    writeFileSync(file, JSON.stringify(document));
    if (!run(tool("openapi-spec-validator"), [file])) return 1;
    writeFileSync(file, JSON.stringify(narrowed(document)));
    const asAdmin = fuzz(folder, server.url, "dev-admin", seconds);
    const asOperator = fuzz(folder, server.url, "dev-acme", Math.ceil(seconds / 3));
    const asSubmitter = fuzz(folder, server.url, "dev-acme-sub", Math.ceil(seconds / 3));
    return asAdmin && asOperator && asSubmitter ? 0 : 1;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
