/**
 * The same gateway with a paired agent: a real signer in memory, whose ledger holds the ceilings.
 */
import { createPublicKey } from "node:crypto";
import { findFamilyOfAddressSpace } from "../../chains/families.ts";
import { missingCeilingOfAgent, settleCeilingOfAgent } from "../../gateway/deposits/ceilings.ts";
import { applyStatements } from "../../gateway/hub/statements.ts";
import { keepCaughtUp } from "../../gateway/recovery/catch-up.ts";
import { readAgent } from "../../gateway/store/agents.ts";
import type { AgentRow } from "../../gateway/store/rows.ts";
import type { Store } from "../../gateway/store/store.ts";
import { agentId, begun, Kit, merchant, own, vault, wallet } from "../../lab/kit/signer-kit.ts";
import { openEnvelope, publicKeyHex, sealEnvelope } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import { parseStatement } from "../../protocol/payloads.ts";
import { RestoredKit } from "./restored-kit.ts";
import { assertTaken } from "./taken.ts";

const currencies = JSON.stringify([
  { id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" },
]);
const insertAgent = `INSERT INTO agents (id, merchant, wallet, ledgerEpoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
  VALUES (?, ?, ?, 1, ?, ?, ?, '["eip155:31337"]', ?, 0)`;

/** After so many neither has more to say. */
const talkRounds = 4;

export class RestoredAgentKit extends RestoredKit {
  readonly signer = new Kit();
  readonly #signerKey = createPublicKey(vault.signerKey);
  override nowMs = begun;

  override own({ database }: Store): void {
    const key = publicKeyHex(vault.signerKey);
    const accounts = own.map(({ family, purpose, id }) => {
      const firstAddress =
        purpose === "hot" ? id : findFamilyOfAddressSpace(family)?.depositAddress(id, 0);
      return { family, purpose, id, firstAddress };
    });
    database.run(
      insertAgent,
      agentId,
      merchant,
      wallet,
      key,
      key,
      JSON.stringify(accounts),
      currencies,
    );
  }

  get agent(): AgentRow {
    return readAgent(this.store.database, agentId) as AgentRow;
  }

  /** A connection: handshake, statements, acknowledgements, until neither has more to say. */
  override async meet(): Promise<void> {
    this.signer.now = this.nowMs;
    const { nonce } = this.signer.ask("hello");
    const { jobSequence, jobHash } = this.agent;
    const jobs = { sequence: jobSequence, hash: jobSequence === 0 ? zeroHash : jobHash };
    const challenge = this.nowMs.toString(16).padStart(64, "0");
    this.signer.admit(
      this.#seal("welcome", { wallet, challenge, answers: nonce, gatewayHead: this.#head(), jobs }),
    );
    for (let round = 0; round < talkRounds; round += 1) {
      for (const frame of this.signer.ask("report", { after: this.agent.headSeq }).frames)
        this.#take(frame);
      const asked = missingCeilingOfAgent(this.agent);
      const ceiling = asked === null ? {} : { ceiling: asked };
      if (this.#head() !== null)
        this.signer.release(this.#seal("ack", { head: this.#head(), ended: [], ...ceiling }));
    }
  }

  #head() {
    const { headSeq, headHash } = this.agent;
    return headSeq === 0 ? null : { seq: headSeq, hash: headHash };
  }

  #seal(kind: "welcome" | "ack", body: object): Uint8Array {
    const { ledgerEpoch } = this.agent;
    return sealEnvelope(
      kind,
      { agent: agentId, ledgerEpoch, at: this.nowMs, ...body },
      this.signer.gateway.key,
    );
  }

  #take(frame: Uint8Array): void {
    const { payload } = openEnvelope(frame, {
      kind: "statement",
      publicKey: this.#signerKey,
      bytesMax: 262_144,
    });
    const statement = parseStatement(payload);
    const { run, marks, nowMs } = this;
    const showsHandshake = ({ handshake }: typeof statement): boolean => handshake !== "";
    const verdict = this.store.writeIfOk((database) => {
      const applied = applyStatements(database, agentId, [statement], {
        isOwn: () => true,
        showsHandshake,
        run,
        nowMs,
      });
      const isCaughtUp =
        applied.ok && statement.handshake !== "" && keepCaughtUp(database, agentId, run);
      if (isCaughtUp) settleCeilingOfAgent(database, agentId, { marks, run, nowMs });
      return applied;
    });
    assertTaken(verdict);
  }
}
