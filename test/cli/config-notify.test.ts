/**
 * The keys `notify` and `metrics` of config.json, `alerts` and `metrics` of gateway.config.json:
 * each way of being wrong beside one that is right.
 */
import { describe, expect, it } from "vitest";
import { readMetrics, readNotify } from "../../agent/config/shape.ts";
import type { JsonValue } from "../../base/json.ts";
import { parseConfig } from "../../gateway/config/config.ts";
import { testConfig } from "../../lab/kit/gateway-server.ts";

const currencies = { eth: { chain: "local", decimal: 18 } };
const notify = (value: JsonValue) => readNotify(value, currencies);
const gateway = (change: object) =>
  parseConfig(JSON.stringify({ ...testConfig, ...change }), "/", 0);

describe("notify", () => {
  it("is a command or an address, with what else is left out by default", () => {
    expect(notify({ command: ["/bin/tell", "a"] })).toEqual({
      ...{
        target: { kind: "command", command: ["/bin/tell", "a"] },
        stuckMinutes: 30,
        awayMinutes: 10,
        lowFunds: {},
      },
    });
    expect(
      notify({
        url: "https://x.example/h?t=1",
        lowFunds: { eth: "0.5" },
        stuckMinutes: 5,
        awayMinutes: 1,
      }),
    ).toEqual({
      ...{
        target: { kind: "url", url: "https://x.example/h?t=1" },
        stuckMinutes: 5,
        awayMinutes: 1,
        lowFunds: { eth: "0.5" },
      },
    });
    expect(notify({ url: "http://127.0.0.1:9/h" }).target).toEqual({
      kind: "url",
      url: "http://127.0.0.1:9/h",
    });
  });

  for (const [name, value, words] of [
    ["neither", {}, /command or url/],
    ["both", { command: ["/bin/tell"], url: "https://x.example" }, /not both/],
    ["a name without its path", { command: ["tell"] }, /whole path/],
    ["an empty command", { command: [] }, /whole path/],
    [
      "http to elsewhere",
      { url: "http://x.example/secret" },
      /^notify\.url is http, and x\.example is not this machine$/,
    ],
    ["a user name", { url: "https://me:word@x.example/" }, /without user name/],
    ["an unknown currency", { command: ["/bin/tell"], lowFunds: { btc: "1" } }, /not a known key/],
    [
      "an amount that is a number",
      { command: ["/bin/tell"], lowFunds: { eth: 1 } },
      /write amounts as text/,
    ],
    ["minutes of nothing", { command: ["/bin/tell"], awayMinutes: 0 }, /between 1 and 10080/],
    ["an unknown key", { command: ["/bin/tell"], stukMinutes: 5 }, /not a known key/],
  ] as const) {
    it(`a notify section is not ${name}`, () => {
      expect(() => notify(value as unknown as JsonValue)).toThrow(words);
    });
  }
});

describe("metrics", () => {
  it("settings of metrics are served at a socket file or a port of this machine, and nowhere else", () => {
    expect(readMetrics({ listen: "unix" })).toEqual({ listen: { kind: "unix" } });
    expect(readMetrics({ listen: "127.0.0.1:9464" })).toEqual({
      listen: { kind: "tcp", host: "127.0.0.1", port: 9464 },
    });
    expect(readMetrics({ listen: "[::1]:9464" })).toEqual({
      listen: { kind: "tcp", host: "::1", port: 9464 },
    });
    for (const listen of ["0.0.0.0:9464", "9464", "127.0.0.1:0", "127.0.0.1:70000", "host:1"])
      expect(() => readMetrics({ listen }), listen).toThrow(/metrics\.listen must be/);
  });
});

describe("the gateway's", () => {
  it("alerts and metrics are absent, or right, or named with what is wrong", () => {
    expect([gateway({}).alerts, gateway({}).metrics]).toEqual([null, null]);
    expect(gateway({ alerts: { command: ["/bin/tell"] } }).alerts).toEqual({
      ...{ target: { kind: "command", command: ["/bin/tell"] }, agentAwayMinutes: 10 },
    });
    expect(
      gateway({ alerts: { url: "https://x.example/h", agentAwayMinutes: 3 } }).alerts
        ?.agentAwayMinutes,
    ).toBe(3);
    expect(gateway({ metrics: { listen: "[::1]:9465" } }).metrics).toEqual({
      host: "::1",
      port: 9465,
    });
    expect(() => gateway({ alerts: {} })).toThrow(/command or url/);
    expect(() => gateway({ alerts: { command: ["tell"] } })).toThrow(/whole path/);
    expect(() => gateway({ alerts: { url: "http://x.example" } })).toThrow(
      /is http, and x\.example is not this machine/,
    );
    expect(() => gateway({ metrics: { listen: "0.0.0.0:9465" } })).toThrow(
      /config\.metrics\.listen/,
    );
    expect(() => gateway({ metrics: { listen: "127.0.0.1:70000" } })).toThrow(
      /must be an address of this machine/,
    );
  });
});
