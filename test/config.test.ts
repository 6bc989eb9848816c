import { describe, expect, test } from "vitest";
import { fromEnv, toEnv } from "../src/settings/config.ts";

const urls = {
  critical: "https://sqs.example.com/1/critical",
  high: "https://sqs.example.com/1/high",
  normal: "https://sqs.example.com/1/normal",
  low: "https://sqs.example.com/1/low",
};

describe("settings", () => {
  test("settings come back as they were written", () => {
    const env = toEnv({ table: "t", queueUrls: urls, tier: "low", probes: "1", timeScale: "0.01" });
    expect(fromEnv(env, ["table", "queueUrls", "tier", "probes", "timeScale"])).toEqual({
      table: "t",
      queueUrls: urls,
      tier: "low",
      probes: true,
      timeScale: 0.01,
    });
  });

  test("settings have the contract's defaults", () => {
    expect(fromEnv({}, ["probes", "timeScale", "localKeys"])).toEqual({ probes: false, timeScale: 1, localKeys: "" });
  });

  test("all settings that are missing or wrong are named in one error, with how to mend it", () => {
    const env = { OFFLOAD_QUEUE_URLS: '{"critical":"x"}', OFFLOAD_TIER: "urgent" };
    expect(() => fromEnv(env, ["table", "queueUrls", "tier"])).toThrow(
      /^Offload is not configured: OFFLOAD_TABLE: .*; OFFLOAD_QUEUE_URLS: .*; OFFLOAD_TIER: .*npm start/,
    );
  });

  test("settings are read only where they are asked for", () => {
    expect(fromEnv({ OFFLOAD_TIER: "urgent", OFFLOAD_TABLE: "t" }, ["table"])).toEqual({ table: "t" });
  });

  test("hosts for webhooks are a list, empty by default", () => {
    const hostsOf = (OFFLOAD_CALLBACK_HOSTS?: string) =>
      fromEnv(OFFLOAD_CALLBACK_HOSTS === undefined ? {} : { OFFLOAD_CALLBACK_HOSTS }, ["callbackHosts"]).callbackHosts;
    expect(hostsOf()).toEqual([]);
    expect(hostsOf(" ")).toEqual([]);
    expect(hostsOf("127.0.0.1:9000, LocalHost:80,,[::1]:1,")).toEqual(["127.0.0.1:9000", "localhost:80", "[::1]:1"]);
    expect(() => hostsOf("127.0.0.1:9000,http://localhost:80")).toThrow(
      'OFFLOAD_CALLBACK_HOSTS: expected hosts with ports, such as 127.0.0.1:9000, got "http://localhost:80"',
    );
    expect(() => hostsOf("*")).toThrow("OFFLOAD_CALLBACK_HOSTS: expected hosts with ports");
  });
});
