/** The paths outside /api/v1: pairing for agents, health and readiness for the operator. */
import type { FastifyInstance } from "fastify";
import { transcriptBytesMax } from "../../protocol/pairing.ts";
import { problemAnswer } from "../answer/answer.ts";
import { isOperatorProof, operatorHeader } from "../auth/operator-view.ts";
import { addressBlock, createRateBuckets } from "../auth/rate.ts";
import { pairAgent } from "../pairing/pairing.ts";
import type { GatewayFigures, Probe, Service } from "../service.ts";
import { sendAnswer } from "./server.ts";

const minuteSeconds = 60;
const pairingBodyBytesMax = transcriptBytesMax * 2;

export function addServiceRoutes(
  server: FastifyInstance,
  service: Service,
  probes: readonly Probe[],
  figures: (() => GatewayFigures) | null = null,
): void {
  const { pairingsPerMinute } = service.config.limits;
  const pairings = createRateBuckets(pairingsPerMinute / minuteSeconds, pairingsPerMinute);

  server.route({
    method: "POST",
    url: "/agent/v1/pair",
    bodyLimit: pairingBodyBytesMax,
    onRequest: async (request, response) => {
      const allowance = pairings.take(addressBlock(request.client.address), service.clock());
      if (allowance.allowed) return undefined;
      return sendAnswer(
        request,
        response,
        problemAnswer(
          "rate_limited",
          {},
          { "Retry-After": String(Math.ceil(allowance.waitMs / 1000)) },
        ),
      );
    },
    handler: async (request, response) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array(0);
      return sendAnswer(request, response, pairAgent(service, body, request.client));
    },
  });
  server.get("/health", async (_request, response) =>
    response.type("application/json; charset=utf-8").send('{"status":"ok"}'),
  );
  server.get("/ready", async (request, response) => {
    const { chain } = request.query as { readonly chain?: unknown };
    const isOperator = isOperatorProof(request.headers[operatorHeader], service.key, service.run);
    const checks = probes.map((probe) => probe());
    // For a balancer that splits by chain, the chain that it asks for counts as well. An unknown
    // one is none that is read.
    const asked =
      typeof chain === "string"
        ? (checks.find(({ name }) => name === `chain ${chain}`)?.ok ?? false)
        : true;
    const ready = asked && checks.every((check) => check.ok || check.aloneOut === true);
    const shown = checks.map(({ name, ok, detail, full, aloneOut }) => ({
      name,
      ok,
      detail: isOperator ? (full ?? detail) : detail,
      ...(aloneOut === true ? { aloneOut } : {}),
    }));
    const own = isOperator && figures !== null ? { figures: figures() } : {};
    const body = JSON.stringify({ status: ready ? "ready" : "not ready", checks: shown, ...own });
    return response
      .status(ready ? 200 : 503)
      .type("application/json; charset=utf-8")
      .send(body);
  });
}
