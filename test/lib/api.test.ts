import { App, Stack } from "aws-cdk-lib";
import { CorsHttpMethod } from "aws-cdk-lib/aws-apigatewayv2";
import { Certificate } from "aws-cdk-lib/aws-certificatemanager";
import { HostedZone } from "aws-cdk-lib/aws-route53";
import { describe, expect, test } from "vitest";
import { routes } from "../../src/api/http/routes.ts";
import { readScenario } from "../../src/tools/plan/scenario.ts";
import {
  allOf,
  inService,
  needed,
  type Props,
  type Resource,
  resources,
  type Synthesis,
  stage,
  synthesize,
} from "./synthesis.ts";

const dev = stage("dev");

/** The one resource of a type. */
function only({ service }: Synthesis, type: string): Resource {
  const [found, ...others] = allOf(service, type);
  if (found === undefined || others.length > 0) throw new Error(`expected one ${type}`);
  return found;
}

const byKey = new Map(allOf(dev.service, "AWS::ApiGatewayV2::Route").map((route) => [route.get("RouteKey"), route]));

/** The function behind a route. */
function functionOf(routeKey: string): string {
  const target = inService(dev, byKey.get(routeKey)?.get("Target")).replace("integrations/", "");
  const integration = resources(dev.service, "AWS::ApiGatewayV2::Integration")(target);
  return inService(dev, integration.get("IntegrationUri")).replace("/Function.Arn", "").toLowerCase();
}

test.each(routes)("$method $path leads to $functionName", ({ method, path, functionName }) => {
  expect(functionOf(`${method} ${path}`)).toBe(functionName);
});

test("any other request leads to status, with the authorizer", () => {
  expect(functionOf("$default")).toBe("status");
  expect(byKey.get("$default")?.get("AuthorizationType")).toBe("CUSTOM");
});

test("there are no more routes", () => {
  expect([...byKey.keys()].sort()).toEqual(
    [...routes.map(({ method, path }) => `${method} ${path}`), "$default"].sort(),
  );
});

test("only /health, /openapi.json, the links of signals and the console are open", () => {
  const open = [...byKey].filter(([, route]) => route.get("AuthorizationType") !== "CUSTOM");
  expect(open.map(([key]) => key)).toEqual([
    ...["GET /health", "GET /openapi.json", "GET /signals/{token}", "POST /signals/{token}"],
    ...["GET /console", "GET /console/{file}"],
  ]);
});

describe("the authorizer", () => {
  const authorizer = only(dev, "AWS::ApiGatewayV2::Authorizer");

  /** With an identity source the gateway would refuse requests by itself, in words that are no problem document. */
  test("the authorizer is asked for every request", () => {
    expect(authorizer.get("IdentitySource")).toEqual([]);
    expect(authorizer.get("AuthorizerResultTtlInSeconds")).toBe(0);
  });

  test("the authorizer gives simple answers", () => {
    expect(authorizer.get("EnableSimpleResponses")).toBe(true);
    expect(authorizer.get("AuthorizerPayloadFormatVersion")).toBe("2.0");
  });
});

describe("the stage", () => {
  const root = only(dev, "AWS::ApiGatewayV2::Stage");

  test("the stage is the API's root", () => {
    expect(root.get("StageName")).toBe("$default");
  });

  test("the stage allows 500 requests a second, 1000 at once", () => {
    expect(root.get("DefaultRouteSettings")).toEqual({ ThrottlingRateLimit: 500, ThrottlingBurstLimit: 1000 });
  });

  test("the stage logs each request as one JSON object, without a token", () => {
    const format = String(root.get("AccessLogSettings.Format"));
    expect(JSON.parse(format)).toMatchObject({ request_id: "$context.requestId", status: "$context.status" });
    expect(format).not.toMatch(/authorization/i);
    // The gateway does not escape them.
    expect(format).not.toMatch(/userAgent|authorizer\.principal\b/);
  });
});

test("a line of the access log has the bytes that the planner has", () => {
  const values: Record<string, string> = {
    "$context.requestId": "JKJaXmPLvHcESHA=",
    "$context.httpMethod": "GET",
    "$context.path": "/tasks/0198f0c2-7a54-7c31-b3a7-0f7d1c9a1b11",
    "$context.routeKey": "GET /tasks/{id}",
    "$context.status": "200",
    "$context.responseLatency": "45",
    "$context.integrationLatency": "22",
    "$context.responseLength": "312",
    "$context.authorizer.tenant_id": "acme",
    "$context.authorizer.logged_principal": "abcd1234",
    "$context.identity.sourceIp": "203.0.113.117",
  };
  const format = String(only(dev, "AWS::ApiGatewayV2::Stage").get("AccessLogSettings.Format"));
  const line = format.replace(/\$[\w.]+/g, (variable) => values[variable] ?? "-");
  const planned = readScenario({}).overhead.requestLogBytes;
  expect(line.length).toBeLessThanOrEqual(planned);
  expect(line.length).toBeGreaterThan(0.95 * planned);
});

test("each function may be called by one permission, not by one for each route", () => {
  const permissions = allOf(dev.service, "AWS::Lambda::Permission");
  const ofGateway = permissions.filter((permission) => permission.get("Principal") === "apigateway.amazonaws.com");
  const allowed = ofGateway.map((permission) => inService(dev, permission.get("FunctionName")));
  const handlers = ["Submit", "Status", "Control", "Console", "Authorizer"];
  expect(allowed.sort()).toEqual(handlers.map((name) => `${name}/Function.Arn`).sort());
});

test("pages of other origins may not call the API", () => {
  expect(only(dev, "AWS::ApiGatewayV2::Api").get("CorsConfiguration")).toBeUndefined();
});

/** Another logical id is another API, at another URL. */
test("the API keeps its logical id", () => {
  expect(only(dev, "AWS::ApiGatewayV2::Api").logicalId).toBe("ApiCD79AAA0");
});

test("the output names the API", () => {
  expect(inService(dev, dev.service.toJSON().Outputs.ApiUrl.Value)).toBe("Api/Api.ApiEndpoint");
});

describe("an API with options", () => {
  const chosen = synthesize({
    throttle: { requestsPerSecond: 50 },
    cors: { allowOrigins: ["https://app.example.com"], allowMethods: [CorsHttpMethod.ANY] },
  });

  test("an API may have its own limits, with defaults for the rest", () => {
    expect(only(chosen, "AWS::ApiGatewayV2::Stage").get("DefaultRouteSettings")).toEqual({
      ThrottlingRateLimit: 50,
      ThrottlingBurstLimit: 1000,
    });
  });

  test("an API may allow pages of other origins", () => {
    const api = only(chosen, "AWS::ApiGatewayV2::Api");
    expect(api.get("CorsConfiguration.AllowOrigins")).toEqual(["https://app.example.com"]);
  });
});

describe("an API with a domain", () => {
  const arn = "arn:aws:acm:eu-central-1:123456789012:certificate/1";
  const name = "tasks.example.com";
  const withDomain = (zone: boolean) =>
    synthesize((app) => {
      const stack = new Stack(app, "App");
      const certificate = Certificate.fromCertificateArn(stack, "Certificate", arn);
      const hostedZone = HostedZone.fromHostedZoneAttributes(stack, "Zone", {
        hostedZoneId: "Z1",
        zoneName: "example.com",
      });
      return { domain: { name, certificate, ...(zone && { hostedZone }) } };
    });
  const zoned = withDomain(true);
  const plain = withDomain(false);

  test("the domain accepts TLS from 1.2 on, with the certificate", () => {
    const domain = only(plain, "AWS::ApiGatewayV2::DomainName");
    expect(domain.get("DomainName")).toBe(name);
    expect(domain.list("DomainNameConfigurations")).toEqual([
      { CertificateArn: arn, EndpointType: "REGIONAL", SecurityPolicy: "TLS_1_2" },
    ]);
  });

  test("the domain leads to the API's stage, and is the only way in", () => {
    const mapping = only(plain, "AWS::ApiGatewayV2::ApiMapping");
    expect(inService(plain, mapping.get("ApiId"))).toBe("Api/Api");
    expect(mapping.get("Stage")).toBe("$default");
    expect(mapping.get("ApiMappingKey")).toBeUndefined();
    expect(only(plain, "AWS::ApiGatewayV2::Api").get("DisableExecuteApiEndpoint")).toBe(true);
  });

  test("the output names the domain", () => {
    expect(plain.service.toJSON().Outputs.ApiUrl.Value).toBe("https://tasks.example.com");
  });

  test("a hosted zone gets a record; without one, an output names the target of the record to create", () => {
    const record = only(zoned, "AWS::Route53::RecordSet");
    expect([record.get("Name"), record.get("Type"), record.get("HostedZoneId")]).toEqual([`${name}.`, "A", "Z1"]);
    expect(inService(zoned, record.get("AliasTarget.DNSName"))).toBe("Api/Domain.RegionalDomainName");
    expect(zoned.service.toJSON().Outputs.ApiDomainTarget).toBeUndefined();
    expect(inService(plain, plain.service.toJSON().Outputs.ApiDomainTarget.Value)).toBe(
      "Api/Domain.RegionalDomainName",
    );
  });

  test("an API without a domain can be called by the name that API Gateway creates", () => {
    expect(only(dev, "AWS::ApiGatewayV2::Api").get("DisableExecuteApiEndpoint")).not.toBe(true);
    expect(allOf(dev.service, "AWS::ApiGatewayV2::DomainName")).toEqual([]);
  });

  test.each(["https://tasks.example.com", "Tasks.example.com", "tasks", "tasks.example.com/v1"])(
    "%j is refused as a domain, with the expected form",
    (wrong) => {
      const certificate = Certificate.fromCertificateArn(new Stack(new App(), "App"), "Certificate", arn);
      expect(() => synthesize({ domain: { name: wrong, certificate } })).toThrow(
        `domain.name must be a domain in lower case without a scheme, such as tasks.example.com; got "${wrong}"`,
      );
    },
  );
});

describe("the access log's name", () => {
  const groupOf = (props: Props) => resources(synthesize(props).service, "AWS::Logs::LogGroup")("Api/RequestLog");
  const vended = "/aws/vendedlogs/Offload-prod-requests";

  test("is CloudFormation's, as deployments have it", () => {
    expect(groupOf({ stage: "prod", ...needed.prod }).get("LogGroupName")).toBeUndefined();
  });

  test("is one that takes nothing of CloudWatch's policy, by option", () => {
    expect(groupOf({ stage: "prod", ...needed.prod, vendedAccessLog: true }).get("LogGroupName")).toBe(vended);
  });

  test("is such a one in a preview, of which an account has many", () => {
    expect(groupOf({ stage: "prod", dataProtection: false }).get("LogGroupName")).toBe(vended);
    expect(
      groupOf({ stage: "prod", dataProtection: false, vendedAccessLog: false }).get("LogGroupName"),
    ).toBeUndefined();
  });

  test("is free again after it was switched off, so that it can be switched on again", () => {
    const { json } = groupOf({ stage: "prod", ...needed.prod, vendedAccessLog: true });
    expect(json).toMatchObject({ DeletionPolicy: "Delete", UpdateReplacePolicy: "Delete" });
  });
});
