/**
 * The entry `offload-client/direct`: the direct client on Offload's own small AWS clients. They take credentials from Lambda's variables, or
 * from the address that containers of ECS and EKS have.
 * @module offload-client/direct
 */
import { useContainerCredentials } from "../aws/lean/container-credentials.ts";

useContainerCredentials();

export * from "./index.ts";
