/**
 * The same gateway with a paired agent: a real signer in memory, whose ledger holds the ceilings.
 */
import { createPublicKey } from "node:crypto";
import { familyNamed } from "../../chains/families.ts";
import { askedCeiling, settleAgent } from "../../gateway/deposits/ceilings.ts";
import { applyStatements } from "../../gateway/hub/statements.ts";
import { keepHeard } from "../../gateway/recovery/hearing.ts";
import { readAgent } from "../../gateway/store/agents.ts";
import type { AgentRow } from "../../gateway/store/rows.ts";
import type { Store } from "../../gateway/store/store.ts";
import { agentId, begun, merchant, own, Rig, vault, wallet } from "../../lab/rig/signer-rig.ts";
import { openEnvelope, publicKeyHex, sealEnvelope } from "../../protocol/envelope.ts";
import { zeroHash } from "../../protocol/identity.ts";
import { parseStatement } from "../../protocol/payloads.ts";
import { PutBackRig } from "./put-back-rig.ts";
import { assertTaken } from "./taken.ts";

const currencies = JSON.stringify([{ id: "eth", network: "eip155:31337", contract: "", decimal: 18, maxFee: "0.01" }]);
const insertAgent = `INSERT INTO agents (id, merchant, wallet, epoch, signerKey, linkKey, accounts, networks, currencies, pairedAt)
  VALUES (?, ?, ?, 1, ?, ?, ?, '["eip155:31337"]', ?, 0)`;

/** After so many neither has more to say. */
const talkRounds = 4;

export class PutBackAgentRig extends PutBackRig {
  readonly signer = new Rig();
  readonly #signerKey = createPublicKey(vault.signerKey);
  override nowMs = begun;

  override own({ database }: Store): void {
    const key = publicKeyHex(vault.signerKey);
    const accounts = own.map(({ family, purpose, id }) => {
      const firstAddress = purpose === "hot" ? id : familyNamed(family)?.depositAddress(id, 0);
      return { family, purpose, id, firstAddress };
    });
    database.run(insertAgent, agentId, merchant, wallet, key, key, JSON.stringify(accounts), currencies);
  }

  get agent(): AgentRow {
    return readAgent(this.store.database, agentId) as AgentRow;
  }

  /** A connection: greeting, statements, acknowledgements, until neither has more to say. */
  override async meet(): Promise<void> {
    this.signer.now = this.nowMs;
    const { nonce } = this.signer.ask("hello");
    const { jobSequence, jobHash } = this.agent;
    const jobs = { sequence: jobSequence, hash: jobSequence === 0 ? zeroHash : jobHash };
    const challenge = this.nowMs.toString(16).padStart(64, "0");
    this.signer.admit(this.#seal("welcome", { wallet, challenge, answers: nonce, echo: this.#head(), jobs }));
    for (let round = 0; round < talkRounds; round += 1) {
      for (const frame of this.signer.ask("report", { after: this.agent.headSeq }).frames) this.#take(frame);
      const asked = askedCeiling(this.agent);
      const ceiling = asked === null ? {} : { ceiling: asked };
      if (this.#head() !== null) this.signer.release(this.#seal("ack", { head: this.#head(), ended: [], ...ceiling }));
    }
  }

  #head() {
    const { headSeq, headHash } = this.agent;
    return headSeq === 0 ? null : { seq: headSeq, hash: headHash };
  }

  #seal(kind: "welcome" | "ack", body: object): Uint8Array {
    const { epoch } = this.agent;
    return sealEnvelope(kind, { agent: agentId, epoch, at: this.nowMs, ...body }, this.signer.gateway.key);
  }

  #take(frame: Uint8Array): void {
    const { payload } = openEnvelope(frame, { kind: "statement", publicKey: this.#signerKey, bytesMax: 262_144 });
    const statement = parseStatement(payload);
    const { run, marks, nowMs } = this;
    const tellsGreeting = ({ greeted }: typeof statement): boolean => greeted !== "";
    const verdict = this.store.writeIfOk((database) => {
      const applied = applyStatements(database, agentId, [statement], { isOwn: () => true, tellsGreeting, run, nowMs });
      const isHeard = applied.ok && statement.greeted !== "" && keepHeard(database, agentId, run);
      if (isHeard) settleAgent(database, agentId, { marks, run, nowMs });
      return applied;
    });
    assertTaken(verdict);
  }
}
