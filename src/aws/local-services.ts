/** The services that the local server plays. */
type Service = "dynamodb" | "sqs" | "scheduler" | "cloudwatch";

/** Variable with the addresses of the services that the local server plays. */
export const localServicesVariable = "OFFLOAD_LOCAL_SERVICES";

export const localServicesEnv = (urls: Readonly<Record<Service, string>>): Record<string, string> => ({
  [localServicesVariable]: JSON.stringify(urls),
});

/**
 * Configuration of Offload's own clients on the local server; nothing elsewhere, where it comes from the SDK's variables. These stay as the
 * developer has set them, for the clients of handlers.
 */
export function localConfig(service: Service, env: NodeJS.ProcessEnv = process.env) {
  const urls = env[localServicesVariable];
  if (urls === undefined) return {};
  return {
    endpoint: (JSON.parse(urls) as Record<Service, string>)[service],
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
  };
}
