/** The services that the local server plays. */
type Service = "dynamodb" | "sqs" | "scheduler" | "cloudwatch" | "s3" | "eventbridge";

/** Variable with the addresses of the services that the local server plays. */
export const localServicesVariable = "OFFLOAD_LOCAL_SERVICES";

/** Credentials that the local server accepts from any client on this machine. */
export const localCredentials = { accessKeyId: "local", secretAccessKey: "local" } as const;

export interface LocalServices extends Readonly<Record<Service, string>> {
  /**
   * Secret of the access key `offload`, with which URLs for web pages are signed. Only this server and its functions
   * know it.
   */
  readonly s3Secret: string;
}

/** Access key of Offload's own S3 client on the local server. */
export const localS3AccessKey = "offload";

let s3AccessKey = () => localS3AccessKey;

/** Sets the access keys of S3 clients that are opened from now on. Only the local server does so. */
export function useS3Keys(key: () => string): void {
  s3AccessKey = key;
}

export const localServicesEnv = (services: LocalServices): Record<string, string> => ({
  [localServicesVariable]: JSON.stringify(services),
});

/**
 * Configuration of Offload's own clients on the local server; nothing elsewhere, where it comes from the SDK's
 * variables. These stay as the developer has set them, for the clients of handlers.
 */
export function localConfig(service: Service, env: NodeJS.ProcessEnv = process.env) {
  const text = env[localServicesVariable];
  if (text === undefined) return {};
  const services = JSON.parse(text) as LocalServices;
  return {
    endpoint: services[service],
    region: "us-east-1",
    credentials:
      service === "s3" ? { accessKeyId: s3AccessKey(), secretAccessKey: services.s3Secret } : localCredentials,
  };
}
