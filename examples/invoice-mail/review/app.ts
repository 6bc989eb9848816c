import { App, Aspects, Duration, type Stack } from "aws-cdk-lib";
import { AnyPrincipal, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { CfnEventSourceMapping } from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Queue } from "aws-cdk-lib/aws-sqs";
import { TaskPipeline } from "offload/cdk";

/* The pipeline with mistakes on purpose: the other five of the ten that the review finds. */

const app = new App();
const pipeline = new TaskPipeline(app, "Offload", { stage: "dev", tasks: "tasks" });
const shop = pipeline.node.findChild("Data") as Stack;

// 6. Everybody may send orders.
const orders = new Queue(shop, "Orders", { retentionPeriod: Duration.days(4) });
orders.addToResourcePolicy(
  new PolicyStatement({ principals: [new AnyPrincipal()], actions: ["sqs:*"], resources: [orders.queueArn] }),
);
// 7. A role may do everything with every table.
new Role(shop, "Importer", { assumedBy: new ServicePrincipal("lambda.amazonaws.com") }).addToPolicy(
  new PolicyStatement({ actions: ["dynamodb:*"], resources: ["*"] }),
);
// 8. Logs are kept for ever.
new LogGroup(shop, "Logs", { retention: RetentionDays.INFINITE });
// 9. A tier has no worker. 10. Another one may start any number of them.
let seen = 0;
Aspects.of(app).add({
  visit(node) {
    if (!(node instanceof CfnEventSourceMapping)) return;
    seen += 1;
    if (seen === 1) node.enabled = false;
    if (seen === 2) node.scalingConfig = undefined;
  },
});
