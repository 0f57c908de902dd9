/**
 * One reader for addresses as proxies write them, for allow lists, rates and logs. Reported for
 * other software in express-rate-limit 234 (port of Azure's gateway), rack 1227, traefik 11508 and
 * fastify 2198 (IPv6 in brackets).
 */
import { describe, expect, it } from "vitest";
import { createAddressTest, readAddress } from "../../gateway/config/address-list.ts";
import { createClientAddressReader } from "../../gateway/config/client-address.ts";
import { handmadeToken } from "../../lab/kit/gateway-server.ts";
import { anotherGateway, db, eachTestItsGateway, gateway } from "../support/shop.ts";

eachTestItsGateway();

describe("readAddress", () => {
  it.each([
    ["203.0.113.5", "203.0.113.5"],
    ["203.0.113.5:51234", "203.0.113.5"],
    [" 203.0.113.5 ", "203.0.113.5"],
    ['"203.0.113.5:80"', "203.0.113.5"],
    ["2001:DB8::1", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ['"[2001:db8::1]:443"', "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["[fe80::1%25eth0]:80", "fe80::1"],
    ["::ffff:203.0.113.5", "203.0.113.5"],
    ["[::ffff:203.0.113.5]:80", "203.0.113.5"],
    ["::FFFF:cb00:7105", "203.0.113.5"],
    ["0:0:0:0:0:ffff:203.0.113.5", "203.0.113.5"],
    ["unknown", null],
    ["_hidden", null],
    ["203.0.113.5:", null],
    ["203.0.113.5:123456", null],
    ["203.0.113.256", null],
    ["for=203.0.113.5", null],
    ["", null],
    ["1".repeat(200), null],
  ])("reads %j as %j", (written, address) => {
    expect(readAddress(written)).toBe(address);
  });

  it("answers for a megabyte at once", () => {
    expect(readAddress('"'.repeat(1_000_000))).toBeNull();
  });
});

describe("addressReader", () => {
  const read = createClientAddressReader(["10.0.0.0/8"]);
  const from = (forwarded: string, remoteAddress = "10.0.0.1") =>
    read({ socket: { remoteAddress }, headers: { "x-forwarded-for": forwarded } } as never);

  it("takes the entry of a trusted proxy in each form", () => {
    expect(from("203.0.113.5:51234")).toEqual({ address: "203.0.113.5", unreadable: "" });
    expect(from("6.6.6.6, [2001:db8::1]:443")).toEqual({ address: "2001:db8::1", unreadable: "" });
    expect(from("203.0.113.5, 10.0.0.9:4711").address).toBe("203.0.113.5");
  });

  it("counts an entry that is no address as the proxy, and names the entry", () => {
    expect(from("203.0.113.5, unknown")).toEqual({ address: "10.0.0.1", unreadable: "unknown" });
  });

  it("passes over the header of an address that is no trusted proxy", () => {
    expect(from("203.0.113.5", "192.0.2.1")).toEqual({ address: "192.0.2.1", unreadable: "" });
  });

  it("counts one client as one name, whatever ports its proxy writes", () => {
    const list = createAddressTest(["203.0.113.5"]);
    const named = new Set([1, 2, 3].map((port) => from(`203.0.113.5:${port}`).address));
    expect([...named]).toEqual(["203.0.113.5"]);
    expect(list([...named][0])).toBe(true);
  });
});

it("a key for one address is let in behind a proxy that writes ports, and nobody else is", async () => {
  await anotherGateway({ trustProxy: ["127.0.0.1"] });
  const { server, merchant, clock } = gateway;
  const [keyId = ""] = merchant.shopKey.split(".");
  const asked = async (forwarded: string) => {
    const signatureToken = handmadeToken(merchant.shopKey, clock.nowMs);
    const headers = {
      signaturetoken: signatureToken,
      "content-type": "application/json",
      "x-forwarded-for": forwarded,
    };
    return (await server.inject({ url: "/api/v1/supportedCurrency", headers })).statusCode;
  };
  db().run("UPDATE keys SET allowedAddresses = '203.0.113.5,127.0.0.1' WHERE id = ?", keyId);
  expect(await asked("203.0.113.5:51234")).toBe(200);
  expect(await asked("203.0.113.6:51234")).toBe(403);
  expect(await asked("unknown")).toBe(403);
});
