/**
 * POST /agent/v1/pair: an agent proves the API secret with a MAC and its link key with a signature over its transcript, and gets a
 * grant under the gateway's key. The key's right to pair is used up by the first; the same keys may come again with a newer
 * transcript and raise the epoch; others wait for `agents release`. A transcript that comes again changes nothing. After a release
 * unheard, whoever pairs begins with a recovery.
 * Sources: docs/protocol.md section 3; docs/architecture.md section 4.
 */

import { depositAddressOf, parseAddress } from "../../chains/evm/address.ts";
import { AgentError, invariant } from "../../protocol/fault.ts";
import { agentIdOf } from "../../protocol/identity.ts";
import type { PairedAccount, PairingTranscript } from "../../protocol/messages.ts";
import {
  parseSealedTranscript,
  parseTranscript,
  type SealedGrant,
  type SealedTranscript,
  sealGrant,
  shortCodeOf,
  transcriptHashOf,
  transcriptMacFits,
  transcriptSignatureFits,
} from "../../protocol/pairing.ts";
import { type Answer, data, isAnswer, say } from "../api/answer.ts";
import { findKey, keyHasScope } from "../auth/keys.ts";
import { openSecret } from "../auth/secret-box.ts";
import type { GatewayConfig } from "../config.ts";
import { wasGivenUp } from "../hub/hearing.ts";
import { awaitsRecovery, beginRecovery, grantedEpoch, recoveryOf } from "../recovery/recovery.ts";
import type { Service } from "../service.ts";
import { recordAct } from "../store/audit.ts";
import type { AgentRow, KeyRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

const clockDifferenceMaxMs = 600_000;

interface Request {
  readonly sealed: SealedTranscript;
  readonly transcript: PairingTranscript;
  readonly hash: string; // of the transcript
  readonly account: PairedAccount;
  readonly firstDepositAddress: string; // one xpub has many texts, but only one address at index 0
}

function read(body: Uint8Array): Request | Answer {
  try {
    const sealed = parseSealedTranscript(body);
    const transcript = parseTranscript(sealed.transcript);
    const [account] = transcript.accounts;
    if (account === undefined) return say("pairing_invalid");
    const address = parseAddress(account.address);
    if (!address.ok || address.address !== account.address) return say("pairing_invalid", { reason: "ADDRESS_CHECKSUM" });
    const firstDepositAddress = depositAddressOf(account.depositXpub, 0);
    return { sealed, transcript, hash: transcriptHashOf(sealed.transcript), account, firstDepositAddress };
  } catch (error) {
    if (error instanceof AgentError) return say("pairing_invalid", { reason: error.code });
    throw error;
  }
}

/** The key that made the MAC, once the link key signed as well; whoever does not hold the secret learns nothing about it. */
function proven(service: Service, request: Request): KeyRow | Answer {
  const { store, key: gatewayKey } = service;
  const key = findKey(store.database, request.transcript.keyId);
  if (key === undefined || key.secretBox === null) return say("pairing_key_invalid");
  const secret = openSecret(key.secretBox, key.id, gatewayKey.sealingKey);
  try {
    if (!transcriptMacFits(secret, request.sealed.transcript, request.sealed.mac)) return say("pairing_key_invalid");
  } finally {
    secret.fill(0);
  }
  const { linkKey } = request.transcript;
  if (!transcriptSignatureFits(linkKey, request.sealed.transcript, request.sealed.signature)) return say("pairing_unsigned");
  if (key.revokedAt !== null) return say("key_revoked");
  return keyHasScope(key, "agent:pair") ? key : say("scope_missing", { scope: "agent:pair" });
}

/** Both sides must mean the same thing by every name the agent uses; what only the gateway has is not payable, and that is all. */
function tablesProblem(config: GatewayConfig, transcript: PairingTranscript): Answer | null {
  const networks = new Set(Object.values(config.chains).map((chain) => chain.network));
  const foreign = transcript.networks.find((network) => !networks.has(network));
  if (foreign !== undefined) return say("pairing_network_differs", { network: foreign });
  for (const theirs of transcript.currencies) {
    const ours = Object.hasOwn(config.currencies, theirs.id) ? config.currencies[theirs.id] : undefined;
    if (ours === undefined) return say("pairing_currency_differs", { currency: theirs.id, field: "id" });
    for (const field of ["network", "contract", "decimal"] as const) {
      if (theirs[field] === ours[field]) continue;
      return say("pairing_currency_differs", { currency: theirs.id, field, gateway: ours[field], agent: theirs[field] });
    }
  }
  return null;
}

interface Registration {
  readonly agent: string;
  readonly merchant: string;
  readonly epoch: number;
  readonly at: number; // the grant's time
  readonly isRepeat: boolean; // nothing was written
}

/** An address index is never used twice under one xpub, whichever agent row it was taken through. */
function nextIndex(database: Database, firstDepositAddress: string): number {
  const sql = "SELECT max(nextDepositIndex) AS next FROM agents WHERE firstDepositAddress = ?";
  return database.get<{ next: number | null }>(sql, firstDepositAddress)?.next ?? 0;
}

function again(database: Database, agent: AgentRow, request: Request, nowMs: number): Registration {
  const { transcript } = request;
  // A recovery that was begun and is overtaken by pairing leaves the head where it stood.
  const recovery = recoveryOf(database, agent);
  if (recovery?.takenAt === null) {
    const sql = "UPDATE agents SET headSeq = ?, headHash = ?, lockedCode = '' WHERE id = ?";
    database.run(sql, recovery.heldSeq, recovery.heldHash, agent.id);
  }
  database.run(
    `UPDATE agents SET epoch = epoch + 1, networks = ?, currencies = ?, pairedAt = ?, releasedAt = NULL, nextDepositIndex = ?,
       transcriptHash = ?, transcriptAt = ? WHERE id = ?`,
    JSON.stringify(transcript.networks),
    JSON.stringify(transcript.currencies),
    nowMs,
    nextIndex(database, request.firstDepositAddress),
    request.hash,
    transcript.at,
    agent.id,
  );
  return { agent: agent.id, merchant: agent.merchant, epoch: agent.epoch + 1, at: nowMs, isRepeat: false };
}

function first(database: Database, id: string, key: KeyRow, request: Request, nowMs: number): Registration {
  const { transcript, account } = request;
  database.run(
    `INSERT INTO agents (id, merchant, wallet, epoch, signerKey, linkKey, hotAddress, depositXpub, networks, currencies,
       nextDepositIndex, firstDepositAddress, transcriptHash, transcriptAt, pairedAt)
       VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    key.merchant,
    transcript.wallet,
    transcript.signerKey,
    transcript.linkKey,
    account.address,
    account.depositXpub,
    JSON.stringify(transcript.networks),
    JSON.stringify(transcript.currencies),
    nextIndex(database, request.firstDepositAddress),
    request.firstDepositAddress,
    request.hash,
    transcript.at,
    nowMs,
  );
  return { agent: id, merchant: key.merchant, epoch: 1, at: nowMs, isRepeat: false };
}

/** Coins at these addresses belong to whom they were paired for first, even after that agent was released. */
function isOthers(database: Database, merchant: string, request: Request): boolean {
  const others = database.get(
    "SELECT 1 FROM agents WHERE merchant <> ? AND (lower(hotAddress) = lower(?) OR depositXpub = ? OR firstDepositAddress = ?)",
    merchant,
    request.account.address,
    request.account.depositXpub,
    request.firstDepositAddress,
  );
  return others !== undefined;
}

function register(database: Database, keyId: string, request: Request, nowMs: number): Registration | Answer {
  const { transcript } = request;
  const key = database.get<KeyRow>("SELECT * FROM keys WHERE id = ? AND revokedAt IS NULL", keyId);
  if (key === undefined) return say("key_revoked");
  const { merchant } = key;
  const id = agentIdOf({ merchant, wallet: transcript.wallet, signerKey: transcript.signerKey, linkKey: transcript.linkKey });
  const live = database.get<AgentRow>("SELECT * FROM agents WHERE merchant = ? AND releasedAt IS NULL", merchant);
  if (live !== undefined && live.id !== id) return say("pairing_taken", { agent: live.id });
  const known = database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", id);
  if (known !== undefined && transcript.at <= known.transcriptAt) {
    const isSame = live !== undefined && known.transcriptHash === request.hash;
    const epoch = grantedEpoch(database, known);
    return isSame ? { agent: id, merchant, epoch, at: known.pairedAt, isRepeat: true } : say("pairing_replayed");
  }
  if (live !== undefined) {
    const wasAwaited = awaitsRecovery(database, live);
    const registered = again(database, live, request, nowMs);
    if (wasAwaited) recoverFirst(database, registered, nowMs);
    return registered;
  }
  if (key.pairingUsed === 1) return say("pairing_used");
  if (isOthers(database, merchant, request)) return say("pairing_wallet_taken");
  database.run("UPDATE keys SET pairingUsed = 1, lastUsedAt = ? WHERE id = ?", nowMs, key.id);
  const registered = known === undefined ? first(database, id, key, request, nowMs) : again(database, known, request, nowMs);
  recoverFirst(database, registered, nowMs);
  return registered;
}

/**
 * What an agent that was released unheard has paid, this database may not know: so the next one has a person look at every order, as
 * after any recovery, and its own grant is of the epoch before.
 */
function recoverFirst(database: Database, { agent, merchant }: Registration, nowMs: number): void {
  if (!wasGivenUp(database, merchant)) return;
  const row = database.get<AgentRow>("SELECT * FROM agents WHERE id = ?", agent);
  invariant(row !== undefined, "it was registered in this transaction");
  beginRecovery(database, row, 0, nowMs, "pairing");
}

/** Registers and answers with the grant; the short code is kept, so that `agents` can show it beside the one `pair` printed. */
function grant(service: Service, keyId: string, request: Request, nowMs: number): Answer {
  const { sealed } = request;
  const outcome = service.store.write(
    (database): { readonly answer: SealedGrant; readonly shortCode: string; readonly by: Registration } | Answer => {
      const by = register(database, keyId, request, nowMs);
      if (isAnswer(by)) return by;
      const { agent, merchant, epoch, at } = by;
      const answer = sealGrant({ version: 1, agent, merchant, epoch, transcript: request.hash, at }, service.key.privateKey);
      const shortCode = shortCodeOf(sealed.transcript, answer.grant);
      const detail = `${shortCode} epoch ${epoch}`;
      if (!by.isRepeat) recordAct(database, { at: nowMs, actor: keyId, act: "paired", subject: agent, detail });
      return { answer, shortCode, by };
    },
  );
  if (isAnswer(outcome)) return outcome;
  const { agent, merchant, epoch } = outcome.by;
  if (!outcome.by.isRepeat)
    service.log.info(
      { event: "agent-paired", agent, merchant, epoch, shortCode: outcome.shortCode },
      "an agent paired; compare the short code with the one pair printed",
    );
  return data(outcome.answer);
}

/**
 * Pairs, or says in a code what differs. The same body again gets the same answer and changes nothing; a newer transcript of the
 * same keys raises the epoch and takes over its networks and currencies.
 * @public
 */
export function pairAgent(service: Service, body: Uint8Array): Answer {
  const request = read(body);
  if (isAnswer(request)) return request;
  const { transcript } = request;
  if (transcript.gatewayFingerprint !== service.key.fingerprint) return say("pairing_other_gateway");
  const key = proven(service, request);
  if (isAnswer(key)) return key;
  const nowMs = service.clock();
  if (Math.abs(nowMs - transcript.at) > clockDifferenceMaxMs)
    return say("pairing_clock", { gatewayAt: nowMs, agentAt: transcript.at });
  const problem = tablesProblem(service.config, transcript);
  return problem ?? grant(service, key.id, request, nowMs);
}
