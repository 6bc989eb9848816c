/**
 * The entry `offload-client/direct`: the direct client on Offload's own small AWS clients. They take credentials from
 * Lambda's variables, from the address that containers of ECS and pods of EKS have, or from STS for the token of a
 * service account of EKS.
 * @module offload-client/direct
 */
import { useContainerCredentials } from "../aws/lean/container-credentials.ts";
import { useWebIdentity } from "../aws/lean/web-identity.ts";

// As in the SDK's chain: variables first, then the token of a service account, then the container's address.
if (!process.env.AWS_ACCESS_KEY_ID) {
  useContainerCredentials();
  useWebIdentity();
}

export * from "./index.ts";
