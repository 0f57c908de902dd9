/**
 * One gateway for all tests of a file, and a client that asks it with a token or without.
 */
import { afterAll, beforeAll } from "vitest";
import {
  type GatewayAnswer,
  startTestGateway,
  type TestGateway,
} from "../../lab/kit/gateway-server.ts";

const many = {
  limits: { failedAuthPerTenMinutes: 100_000, readsPerSecond: 100_000, writesPerSecond: 100_000 },
};
export let gateway: TestGateway;

/** To be called once at the head of a test file. */
export function oneGateway(): void {
  beforeAll(async () => {
    gateway = await startTestGateway(many);
  });
  afterAll(() => gateway.close());
}

/** The operation that every good token may ask for. */
export const path = "/api/v1/supportedCurrency";

export function knock(
  token: string | undefined,
  more: Record<string, string> = {},
): Promise<GatewayAnswer> {
  const headers = {
    "Content-Type": "application/json",
    ...(token === undefined ? {} : { signatureToken: token }),
    ...more,
  };
  return gateway.send(path, { headers });
}
