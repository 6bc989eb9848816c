import { GraphWidget, type IMetric, type YAxisProps } from "aws-cdk-lib/aws-cloudwatch";

/** Width of a dashboard in columns. */
export const columns = 24;

/** A sixth of the dashboard's width. */
export function graph(
  heading: string,
  left: IMetric[],
  leftYAxis: YAxisProps = { min: 0, showUnits: false },
): GraphWidget {
  return new GraphWidget({
    title: heading,
    left,
    leftYAxis: { min: 0, ...leftYAxis },
    width: columns / 6,
    height: 6,
  });
}
