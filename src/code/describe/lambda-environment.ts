/** The environment that Lambda gives a function, without the variables of its deployment. */
export const lambdaEnvironment = (folder: string): NodeJS.ProcessEnv => ({
  PATH: "/var/lang/bin:/usr/local/bin:/usr/bin/:/bin:/opt/bin",
  HOME: folder,
  LANG: "en_US.UTF-8",
  TZ: ":UTC",
  AWS_REGION: "us-east-1",
  AWS_DEFAULT_REGION: "us-east-1",
  AWS_LAMBDA_FUNCTION_NAME: "offload-start",
  AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
  LAMBDA_TASK_ROOT: folder,
});
