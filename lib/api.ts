import { Duration, RemovalPolicy, Validations } from "aws-cdk-lib";
import { AccessLogFormat } from "aws-cdk-lib/aws-apigateway";
import {
  type CorsPreflightOptions,
  HttpApi,
  type HttpMethod,
  HttpNoneAuthorizer,
  HttpRoute,
  type HttpRouteIntegrationBindOptions,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
} from "aws-cdk-lib/aws-apigatewayv2";
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import { type ILogGroup, LogGroup, LogGroupClass } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { type HttpFunction, isOpen, otherRequests, routes } from "../src/api/http/routes.ts";
import { defaultThrottle } from "../src/settings/config.ts";
import { addDomain, type DomainOptions } from "./domain.ts";
import { encryptedLogs } from "./encryption.ts";
import type { LogOptions, PipelineFunction } from "./function.ts";

/** Rate limits of the API. Above them it answers 429. */
export interface ThrottleOptions {
  /**
   * Requests per second, of all callers together.
   * @default 500
   */
  readonly requestsPerSecond?: number;
  /**
   * Maximum burst of requests.
   * @default 1000
   */
  readonly burst?: number;
}

/** Creates the functions that answer requests. Each is called once, for the first route of the function. */
type Handlers = Readonly<Record<HttpFunction, () => PipelineFunction>>;

export interface ApiProps {
  /** Name of the API in the AWS console. */
  readonly name: string;
  readonly authorizer: PipelineFunction;
  readonly handlers: Handlers;
  /** Retention of the access log. */
  readonly logs: LogOptions;
  /** @default - the name that CloudFormation makes */
  readonly accessLogName?: string;
  /** @default - 500 requests per second, burst of 1000 */
  readonly throttle?: ThrottleOptions;
  /** @default - no CORS: web pages of other origins may not call the API */
  readonly cors?: CorsPreflightOptions;
  /** @default - the name that API Gateway creates */
  readonly domain?: DomainOptions;
}

/**
 * Fields of the access log, which has one JSON object for each request. The gateway does not escape values, so no field
 * is a text of the client that may have a quote. The time is that of the log's event.
 */
const accessLog = {
  request_id: "$context.requestId",
  method: "$context.httpMethod",
  path: "$context.path",
  route: "$context.routeKey",
  status: "$context.status",
  latency_ms: "$context.responseLatency",
  integration_ms: "$context.integrationLatency",
  response_bytes: "$context.responseLength",
  tenant_id: "$context.authorizer.tenant_id",
  principal: "$context.authorizer.logged_principal",
  source_ip: "$context.identity.sourceIp",
  error: "$context.error.message",
  authorizer_error: "$context.authorizer.error",
  integration_error: "$context.integrationErrorMessage",
};

/**
 * One permission for each function, not for each route, because a function's policy has a limit of 20 KB. The CDK would
 * search the whole stack for it at each route.
 */
class Integration extends HttpLambdaIntegration {
  private isComplete = false;

  protected override completeBind(options: HttpRouteIntegrationBindOptions): void {
    if (this.isComplete) return;
    this.isComplete = true;
    super.completeBind(options);
  }
}

/**
 * The HTTP API with the routes of `src/api/http/routes.ts`. Every other request goes to the status function, for a 404
 * or 405.
 */
export class Api extends Construct {
  readonly url: string;
  readonly api: HttpApi;
  readonly accessLog: ILogGroup;
  private readonly props: ApiProps;
  private readonly authorizer: HttpLambdaAuthorizer;
  private readonly integrations = new Map<HttpFunction, HttpLambdaIntegration>();

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    this.props = props;
    this.api = new HttpApi(this, "Api", {
      apiName: props.name,
      createDefaultStage: false,
      // With a domain, its certificate and logs are the only way in.
      ...(props.domain !== undefined && { disableExecuteApiEndpoint: true }),
      ...(props.cors !== undefined && { corsPreflight: props.cors }),
    });
    this.accessLog = this.addAccessLog();
    this.authorizer = this.addAuthorizer();
    for (const route of routes) {
      const { method, path, functionName } = route;
      this.addRoute(HttpRouteKey.with(path, method as HttpMethod), functionName, isOpen(route));
    }
    this.addRoute(HttpRouteKey.DEFAULT, otherRequests, false);
    this.addStage(props.domain);
    this.url = props.domain === undefined ? this.api.apiEndpoint : `https://${props.domain.name}`;
  }

  /**
   * One of a fixed name is deleted with its stack, as it would be in the way of the next one. Its class is half the
   * price, and queries are all that reads it. The class of a group cannot change: another class needs another id and
   * another name.
   */
  private addAccessLog(): LogGroup {
    const { logs, accessLogName: logGroupName } = this.props;
    const named = logGroupName === undefined ? {} : { logGroupName, removalPolicy: RemovalPolicy.DESTROY };
    const logGroupClass = LogGroupClass.INFREQUENT_ACCESS;
    return new LogGroup(this, "RequestLog", { ...logs, ...named, ...encryptedLogs(this), logGroupClass });
  }

  /**
   * The authorizer runs for every request and always answers "authorized", with the caller or with the reason for a
   * 401. The functions send the 401 themselves, because the gateway's 401 is not a problem document. An identity source
   * would make the gateway refuse requests, and its cache needs one, so both are off. The authorizer caches keys for a
   * minute.
   */
  private addAuthorizer(): HttpLambdaAuthorizer {
    return new HttpLambdaAuthorizer("Authorizer", this.props.authorizer.function, {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: [],
      resultsCacheTtl: Duration.seconds(0),
    });
  }

  private addRoute(routeKey: HttpRouteKey, functionName: HttpFunction, open: boolean): void {
    const route = new HttpRoute(this, routeKey.key, {
      httpApi: this.api,
      routeKey,
      integration: this.integrationFor(functionName),
      authorizer: open ? new HttpNoneAuthorizer() : this.authorizer,
    });
    if (!open) return;
    Validations.of(route).acknowledge({
      id: "AwsSolutions-APIG4",
      reason:
        "Open to callers without a key: /health for monitors, /openapi.json for developers, /console for the page and its files, /signals for whoever has the link.",
    });
  }

  private integrationFor(functionName: HttpFunction): HttpLambdaIntegration {
    const known = this.integrations.get(functionName);
    if (known !== undefined) return known;
    const { function: target } = this.props.handlers[functionName]();
    const made = new Integration(functionName, target, { scopePermissionToRoute: false });
    this.integrations.set(functionName, made);
    return made;
  }

  private addStage(domain: DomainOptions | undefined): void {
    const { throttle } = this.props;
    new HttpStage(this, "Stage", {
      httpApi: this.api,
      stageName: "$default",
      autoDeploy: true,
      ...(domain !== undefined && { domainMapping: { domainName: addDomain(this, domain) } }),
      throttle: {
        rateLimit: throttle?.requestsPerSecond ?? defaultThrottle.requestsPerSecond,
        burstLimit: throttle?.burst ?? defaultThrottle.burst,
      },
      accessLogSettings: {
        destination: new LogGroupLogDestination(this.accessLog),
        format: AccessLogFormat.custom(JSON.stringify(accessLog)),
      },
    });
  }
}
