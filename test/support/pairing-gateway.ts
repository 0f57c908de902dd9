/**
 * A gateway that can only pair: real cryptography, answers by script. For tests of the agent's
 * side.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { families } from "../../chains/families.ts";
import { privateKeyFromSeed, publicKeyHex } from "../../protocol/envelope.ts";
import { sealGrant, shortCodeOf } from "../../protocol/grant.ts";
import { agentIdOf } from "../../protocol/identity.ts";
import type { PairingTranscript } from "../../protocol/messages.ts";
import {
  accountDigestOf,
  gatewayFingerprintOf,
  parseSealedTranscript,
  parseTranscript,
  transcriptHashOf,
  transcriptMacFits,
  transcriptSignatureFits,
} from "../../protocol/pairing.ts";

type Scripted = (response: ServerResponse) => void;

export class PairingGateway {
  readonly keyId = `k_${randomBytes(8).toString("hex")}`;
  readonly secret = randomBytes(32).toString("base64url");
  readonly key = privateKeyFromSeed(randomBytes(32));
  readonly requests: { readonly body: string; readonly transcript: PairingTranscript }[] = [];
  shortCode = "";
  ledgerEpoch = 0;
  /** Answers in place of the honest one while it is set. */
  scripted: Scripted | null = null;
  readonly #server = createServer((request, response) => void this.#take(request, response));
  #port = 0;

  get apiKey(): string {
    return `${this.keyId}.${this.secret}.${gatewayFingerprintOf(publicKeyHex(this.key))}`;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, the second time on the port it had before. */
  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** An answer with a code of docs/api.md, as the gateway shapes it. */
  say(status: number, code: string, message: string, extra: object = {}): void {
    this.scripted = (response) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ message, code, requestId: "r1", ...extra }));
    };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // An agent that starts opens its link here, which this gateway does not have.
    if (request.method !== "POST") {
      response.writeHead(404).end();
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const sealed = parseSealedTranscript(body);
    const transcript = parseTranscript(sealed.transcript);
    this.requests.push({ body, transcript });
    if (this.scripted !== null) {
      this.scripted(response);
      return;
    }
    const isProven =
      transcriptMacFits(Buffer.from(this.secret), sealed.transcript, sealed.mac) &&
      transcriptSignatureFits(transcript.linkKey, sealed.transcript, sealed.linkSignature) &&
      transcriptSignatureFits(transcript.signerKey, sealed.transcript, sealed.signerSignature) &&
      transcript.accounts.every((account, at) =>
        families.evm.accounts.proofFits(
          account,
          accountDigestOf(sealed.transcript),
          sealed.proofs[at] ?? "",
        ),
      );
    if (request.url !== "/agent/v1/pair" || !isProven) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(
        JSON.stringify({
          message: "The apiKey is not valid.",
          code: "pairing_key_invalid",
          requestId: "r2",
        }),
      );
      return;
    }
    this.ledgerEpoch += 1;
    const agent = agentIdOf({ merchant: "m_test", ...transcript });
    const grant = {
      version: 1 as const,
      agent,
      merchant: "m_test",
      ledgerEpoch: this.ledgerEpoch,
      transcript: transcriptHashOf(sealed.transcript),
      at: transcript.at,
    };
    const answer = sealGrant(grant, this.key);
    this.shortCode = shortCodeOf(sealed.transcript, answer.grant);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  }
}
