import { Duration, PhysicalName, Stack, Validations } from "aws-cdk-lib";
import { Metric, type MetricOptions, Stats } from "aws-cdk-lib/aws-cloudwatch";
import { type ISecurityGroup, type IVpc, SubnetType, Vpc } from "aws-cdk-lib/aws-ec2";
import {
  AvailabilityZoneRebalancing,
  AwsLogDriverMode,
  Capability,
  type CfnCluster,
  Cluster,
  ContainerDependencyCondition,
  ContainerImage,
  CpuArchitecture,
  FargateService,
  FargateTaskDefinition,
  type ICluster,
  LinuxParameters,
  LogDrivers,
  OperatingSystemFamily,
  PropagatedTagSource,
} from "aws-cdk-lib/aws-ecs";
import { type IGrantable, type IPrincipal, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { Construct, type IDependable } from "constructs";
import { type SettingTexts, toEnv } from "../src/settings/config.ts";
import { variableOf } from "../src/work/settings.ts";
import {
  allowLists,
  allowObjects,
  allowProtection,
  allowReceive,
  allowSchedules,
  allowSend,
  allowTable,
} from "./access.ts";
import { addContainerCode, openArguments, startArguments } from "./container-code.ts";
import type { ContainerQueues } from "./container-queues.ts";
import { ContainerScaling } from "./container-scaling.ts";
import { type Containers, stopSeconds } from "./containers.ts";
import type { DataStack } from "./data-stack.ts";
import type { Dispatch } from "./dispatch.ts";
import { encryptedLogs } from "./encryption.ts";
import type { BundleFiles } from "./esbuild.ts";
import type { LogOptions } from "./function.ts";
import { type Network, networkOf } from "./network.ts";
import { stableId } from "./pipeline-stack.ts";

/** Node's own image, from AWS's public registry: Fargate pulls it without an account, and for arm64 as for x86. */
const defaultImage = "public.ecr.aws/docker/library/node:24-slim";

/** User and group of the workers: those of the user `node` in Node's images. */
const workUser = "1000:1000";

/** Port of the health answers, within the container only. */
const healthPort = 8080;

export interface ContainerWorkersProps {
  readonly options: Containers;
  readonly queues: ContainerQueues;
  readonly data: DataStack;
  readonly dispatch: Dispatch;
  /** Network of the worker functions. Undefined: no VPC. */
  readonly network: Network | undefined;
  /** Settings and variables of the workers, except those of containers. */
  readonly settings: SettingTexts;
  readonly environment: Readonly<Record<string, string>>;
  readonly files: BundleFiles;
  readonly logs: LogOptions;
  /** Name of the deployment, which is a dimension of its metrics. */
  readonly service: string;
}

/** The Fargate service of the container workers, with the permissions of the worker functions. */
export class ContainerWorkers extends Construct implements IGrantable {
  readonly service: FargateService;
  readonly logGroup: LogGroup;
  readonly options: Containers;
  readonly queues: ContainerQueues;
  /** The role of the containers. */
  readonly grantPrincipal: IPrincipal;
  private readonly props: ContainerWorkersProps;
  private readonly role: Role;

  constructor(scope: Construct, id: string, props: ContainerWorkersProps) {
    super(scope, id);
    this.props = props;
    this.options = props.options;
    this.queues = props.queues;
    this.logGroup = new LogGroup(this, "Logs", { ...props.logs, ...encryptedLogs(this) });
    this.role = new Role(this, "Role", {
      assumedBy: new ServicePrincipal("ecs-tasks.amazonaws.com"),
      roleName: PhysicalName.GENERATE_IF_NEEDED,
    });
    this.grantPrincipal = this.role;
    this.allowWork(props);
    this.service = this.addService();
    const { minTasks, maxTasks, concurrency } = props.options;
    new ContainerScaling(this, "Scaling", {
      ...{ minTasks, maxTasks, concurrency },
      queues: props.queues,
      clusterName: this.service.cluster.clusterName,
      serviceName: this.service.serviceName,
      containers: this.metric("CPUUtilization", { statistic: Stats.SAMPLE_COUNT, period: Duration.minutes(1) }),
    });
  }

  /** Name of the service with its cluster, as the function that starts the first container reads it. */
  get serviceSetting(): string {
    return `${this.service.cluster.clusterName}/${this.service.serviceName}`;
  }

  /** Share of a CPU, and memory in GB, of one container. */
  get size(): { readonly cpus: number; readonly gigabytes: number } {
    return { cpus: this.options.cpu / 1024, gigabytes: this.options.memoryMiB / 1024 };
  }

  /**
   * A metric of ECS about the containers. It has data only while one runs, and a sample for each container and minute.
   */
  metric(metricName: "CPUUtilization" | "MemoryUtilization", options: MetricOptions): Metric {
    const { cluster, serviceName: ServiceName } = this.service;
    const dimensionsMap = { ClusterName: cluster.clusterName, ServiceName };
    return new Metric({ namespace: "AWS/ECS", metricName, dimensionsMap, ...options });
  }

  /** Functions that submit are updated after these. */
  get dependables(): readonly IDependable[] {
    return [this.service];
  }

  /** Grants starting the first container. */
  allowStart(grantee: IGrantable): void {
    grantee.grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ["ecs:DescribeServices", "ecs:UpdateService"],
        resources: [this.service.serviceArn],
      }),
    );
  }

  /** Grants what the worker functions of all tiers may do, with the queues of containers in place of the tiers'. */
  private allowWork({ data, dispatch, queues }: ContainerWorkersProps): void {
    allowTable(this, data.table, ["GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"]);
    allowLists(this, data.table);
    allowObjects(this, data.bucket, "worker");
    dispatch.allow(this);
    allowSchedules(this, data);
    allowSend(this, Object.values(data.dlqs));
    allowReceive(this, queues.all);
  }

  private addService(): FargateService {
    const { options } = this.props;
    const { vpc, vpcSubnets, securityGroups } = this.networkOfContainers();
    const cluster = new Cluster(this, "Cluster", { vpc });
    // A property of the cluster, as the CDK's own association would not be there before the service.
    (cluster.node.defaultChild as CfnCluster).capacityProviders = ["FARGATE", "FARGATE_SPOT"];
    allowProtection(this, cluster as ICluster);
    Validations.of(cluster).acknowledge({
      id: "AwsSolutions-ECS4",
      reason:
        "Container Insights charges for each container's metrics. Offload's own metrics and logs show the attempts.",
    });
    return new FargateService(this, "Service", {
      // The CDK's own types do not fit each other under `exactOptionalPropertyTypes`.
      cluster: cluster as ICluster,
      taskDefinition: this.addTaskDefinition(),
      capacityProviderStrategies: [{ capacityProvider: options.spot ? "FARGATE_SPOT" : "FARGATE", weight: 1 }],
      ...(vpcSubnets !== undefined && { vpcSubnets }),
      securityGroups: [...securityGroups] as ISecurityGroup[],
      // Without it a container in a public subnet reaches nothing.
      assignPublicIp: vpc.selectSubnets(vpcSubnets).hasPublic,
      // New containers start while those of the old code still end their attempts.
      minHealthyPercent: 100,
      maxHealthyPercent: 200,
      circuitBreaker: { enable: true, rollback: true },
      // Tags of the app say in the bill whose containers they are.
      propagateTags: PropagatedTagSource.SERVICE,
      // It would stop containers with attempts to move them.
      availabilityZoneRebalancing: AvailabilityZoneRebalancing.DISABLED,
    });
  }

  /** The containers' own network, or that of the worker functions, or a new VPC without NAT, which costs nothing. */
  private networkOfContainers(): Network {
    return networkOf(this, this.options) ?? this.props.network ?? (networkOf(this, { vpc: this.addVpc() }) as Network);
  }

  private addVpc(): IVpc {
    const vpc = new Vpc(this, "Vpc", {
      maxAzs: 2,
      natGateways: 0,
      subnetConfiguration: [{ name: "Public", subnetType: SubnetType.PUBLIC, mapPublicIpOnLaunch: false }],
      // Nothing is in the default group. To empty it, the CDK would add a function.
      restrictDefaultSecurityGroup: false,
    });
    Validations.of(vpc).acknowledge({
      id: "AwsSolutions-VPC7",
      reason:
        "Only containers that accept no connection are in this VPC. Flow logs would cost more than the containers.",
    });
    return vpc as IVpc;
  }

  /**
   * The worker is never root. Fargate creates a volume that only root may write, unless the image declares it: so a
   * container that does nothing else opens it for all, and ends before the worker starts.
   */
  private addTaskDefinition(): FargateTaskDefinition {
    const { options, logs: _, ...props } = this.props;
    const linux = new LinuxParameters(this, "Linux", { initProcessEnabled: true });
    linux.dropCapabilities(Capability.ALL);
    const definition = new FargateTaskDefinition(this, "Task", {
      family: stableId(this, "Task"),
      cpu: options.cpu,
      memoryLimitMiB: options.memoryMiB,
      runtimePlatform: { cpuArchitecture: CpuArchitecture.ARM64, operatingSystemFamily: OperatingSystemFamily.LINUX },
      taskRole: this.role,
      volumes: [{ name: "tmp" }],
    });
    const worker = definition.addContainer("Worker", {
      ...this.inContainer(linux, "work"),
      command: startArguments(),
      environment: {
        ...props.environment,
        ...toEnv(props.settings),
        ...this.workVariables(),
        ...this.placeOfCode(),
        POWERTOOLS_SERVICE_NAME: props.service,
        HOME: "/tmp",
      },
      user: workUser,
      stopTimeout: Duration.seconds(stopSeconds),
      healthCheck,
    });
    const opener = definition.addContainer("Volume", {
      ...this.inContainer(linux, "volume"),
      command: openArguments(),
      user: "0:0",
      essential: false,
    });
    for (const container of [worker, opener]) {
      container.addMountPoints({ sourceVolume: "tmp", containerPath: "/tmp", readOnly: false });
    }
    worker.addContainerDependencies({ container: opener, condition: ContainerDependencyCondition.SUCCESS });
    Validations.of(definition).acknowledge({
      id: "AwsSolutions-ECS2",
      reason: "The variables are names of resources and options. Secrets are read from Secrets Manager or SSM by name.",
    });
    return definition;
  }

  /** Properties of each container: a file system that it cannot write, and no capability of Linux. */
  private inContainer(linuxParameters: LinuxParameters, streamPrefix: string) {
    return {
      image: this.options.image ?? ContainerImage.fromRegistry(defaultImage),
      entryPoint: ["node"],
      readonlyRootFilesystem: true,
      linuxParameters,
      // A container must not wait for CloudWatch Logs.
      logging: LogDrivers.awsLogs({ logGroup: this.logGroup, streamPrefix, mode: AwsLogDriverMode.NON_BLOCKING }),
    };
  }

  private workVariables(): Record<string, string> {
    const { concurrency, drainSeconds, memoryMiB } = this.options;
    return {
      [variableOf("concurrency")]: String(concurrency),
      [variableOf("drainSeconds")]: String(drainSeconds),
      [variableOf("healthPort")]: String(healthPort),
      // The rest is for buffers, threads, programs that handlers start, and the process of an attempt that runs alone.
      [variableOf("memoryMb")]: String(Math.floor(memoryMiB * 0.6)),
    };
  }

  /** The code is loaded when a container starts: an image with it would need Docker at each deployment. */
  private placeOfCode(): Record<string, string> {
    const code = addContainerCode(this, "Code", this.props.files);
    const object = Stack.of(this).formatArn({
      ...{ service: "s3", region: "", account: "" },
      ...{ resource: code.s3BucketName, resourceName: code.s3ObjectKey },
    });
    this.role.addToPrincipalPolicy(new PolicyStatement({ actions: ["s3:GetObject"], resources: [object] }));
    return { OFFLOAD_CODE_URL: code.httpUrl, AWS_REGION: Stack.of(this).region };
  }
}

const healthCheck = {
  command: [
    ...["CMD", "node", "-e"],
    `fetch("http://127.0.0.1:${healthPort}").then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`,
  ],
  interval: Duration.seconds(30),
  timeout: Duration.seconds(15),
  retries: 5,
  startPeriod: Duration.minutes(2),
};
