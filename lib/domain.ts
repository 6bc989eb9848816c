import { CfnOutput, Stack, Token } from "aws-cdk-lib";
import { DomainName, SecurityPolicy } from "aws-cdk-lib/aws-apigatewayv2";
import type { ICertificate } from "aws-cdk-lib/aws-certificatemanager";
import { ARecord, type IHostedZone, RecordTarget } from "aws-cdk-lib/aws-route53";
import { ApiGatewayv2DomainProperties } from "aws-cdk-lib/aws-route53-targets";
import type { Construct } from "constructs";
import { settingError } from "./setting-error.ts";

/** Domain of the API. */
export interface DomainOptions {
  /** Full name, in lower case: `tasks.example.com`. */
  readonly name: string;
  /** Certificate for the name, from AWS Certificate Manager in the deployment's Region. */
  readonly certificate: ICertificate;
  /**
   * Hosted zone in which the domain gets its record.
   * @default - none: create a CNAME record to the output `ApiDomainTarget`
   */
  readonly hostedZone?: IHostedZone;
}

/** A name with at least two labels, as API Gateway accepts it. */
const namePattern = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;

/** Adds a domain with TLS 1.2, and its record. @throws TypeError for a name that API Gateway refuses */
export function addDomain(scope: Construct, { name, certificate, hostedZone }: DomainOptions): DomainName {
  if (!Token.isUnresolved(name) && !namePattern.test(name)) {
    throw settingError(
      `domain.name must be a domain in lower case without a scheme, such as tasks.example.com; got ${JSON.stringify(name)}`,
    );
  }
  const domain = new DomainName(scope, "Domain", {
    domainName: name,
    certificate,
    securityPolicy: SecurityPolicy.TLS_1_2,
  });
  if (hostedZone === undefined) {
    new CfnOutput(Stack.of(scope), "ApiDomainTarget", { value: domain.regionalDomainName });
    return domain;
  }
  new ARecord(scope, "Record", {
    zone: hostedZone,
    recordName: `${name}.`,
    target: RecordTarget.fromAlias(
      new ApiGatewayv2DomainProperties(domain.regionalDomainName, domain.regionalHostedZoneId),
    ),
  });
  return domain;
}
