/**
 * POST /agent/v1/pair. An agent proves the API secret with a MAC over its transcript. It also
 * proves each key in the transcript with a signature: the link's, the signer's, and the key of
 * every account of the wallet. The answer is a grant under the gateway's key. The first pairing
 * uses up the API key's right to pair. The same keys may pair again with a newer transcript, which
 * raises the epoch; other keys wait for `agents unpair`. A repeated transcript changes nothing.
 * After a release of an agent that had not caught up, the next pairing begins with a recovery.
 * Sources: docs/protocol.md section 3; docs/architecture.md section 4.
 */

import { AgentError, invariant } from "../../base/fault.ts";
import { findFamily, findFamilyOfAddressSpace } from "../../chains/families.ts";
import { mainNetworkByAddressSpace } from "../../chains/network-names.ts";
import { type SealedGrant, sealGrant, shortCodeOf } from "../../protocol/grant.ts";
import { agentIdOf } from "../../protocol/identity.ts";
import type { PairingTranscript } from "../../protocol/messages.ts";
import {
  accountDigestOf,
  parseSealedTranscript,
  parseTranscript,
  type SealedTranscript,
  transcriptHashOf,
  transcriptMacFits,
  transcriptSignatureFits,
} from "../../protocol/pairing.ts";
import { type Answer, dataAnswer, isAnswer, problemAnswer } from "../answer/answer.ts";
import { findKey, keyHasScope, keyProblem } from "../auth/keys.ts";
import { openSecret } from "../auth/secret-box.ts";
import type { ClientAddress } from "../config/client-address.ts";
import type { GatewayConfig } from "../config/config.ts";
import { hasAgentUnpairedBeforeCatchUp } from "../recovery/catch-up.ts";
import { awaitsRecovery, beginRecovery, grantedEpoch, recoveryOf } from "../recovery/recovery.ts";
import type { Service } from "../service.ts";
import type { AgentAccount } from "../store/agent-accounts.ts";
import { restoreLedgerHead } from "../store/agent-state.ts";
import {
  agentOfMerchant,
  insertAgent,
  type PairingColumns,
  pairAgentAgain,
  readAgent,
} from "../store/agents.ts";
import { recordAct } from "../store/audit.ts";
import { readKey, useUpPairingRight } from "../store/keys.ts";
import { readMerchant } from "../store/merchants.ts";
import { isAccountOfOthers, nextDepositIndexUnder } from "../store/receiving-keys.ts";
import type { AgentRow, KeyRow } from "../store/rows.ts";
import type { Database } from "../store/store.ts";

const clockDifferenceMaxMs = 600_000;

interface Request {
  readonly sealed: SealedTranscript;
  readonly transcript: PairingTranscript;
  readonly hash: string; // hash of the transcript
  readonly accounts: readonly AgentAccount[];
}

function read(body: Uint8Array): Request | Answer {
  try {
    const sealed = parseSealedTranscript(body);
    const transcript = parseTranscript(sealed.transcript);
    const accounts = readAccounts(transcript);
    if (isAnswer(accounts)) return accounts;
    return { sealed, transcript, hash: transcriptHashOf(sealed.transcript), accounts };
  } catch (error) {
    if (error instanceof AgentError)
      return problemAnswer("pairing_invalid", { reason: error.code });
    throw error;
  }
}

/**
 * The accounts, if their families are served here and every network has an account of its family.
 */
function readAccounts({ accounts, networks }: PairingTranscript): readonly AgentAccount[] | Answer {
  const read: AgentAccount[] = [];
  for (const { family: name, purpose, id } of accounts) {
    const family = findFamilyOfAddressSpace(name);
    if (family === undefined)
      return problemAnswer("pairing_invalid", { reason: "PAIRING_TRANSCRIPT" });
    if (purpose === "deposits") {
      read.push({ family: name, purpose, id, firstAddress: family.depositAddress(id, 0) });
      continue;
    }
    const network =
      networks.find((one) => findFamily(one) === family) ??
      mainNetworkByAddressSpace[family.addressSpace.name];
    const address = family.parseAddress(id, network);
    if (!address.ok || address.address !== id)
      return problemAnswer("pairing_invalid", { reason: "ADDRESS_CHECKSUM" });
    read.push({ family: name, purpose, id, firstAddress: id });
  }
  const isServed = (network: string): boolean => {
    const needed = findFamily(network)?.addressSpace.name;
    return needed === undefined || read.some(({ family }) => family === needed);
  };
  return networks.every(isServed)
    ? read
    : problemAnswer("pairing_invalid", { reason: "PAIRING_TRANSCRIPT" });
}

/**
 * The API key that made the MAC, if all the other keys have signed. A client without the secret
 * learns nothing about the key.
 */
function proven(service: Service, request: Request, client: ClientAddress): KeyRow | Answer {
  const { store, key: gatewayKey, clock } = service;
  const key = findKey(store, request.transcript.keyId);
  if (key === undefined || key.secretBox === null) return problemAnswer("pairing_key_invalid");
  const secret = openSecret(key.secretBox, key.id, gatewayKey.sealingKey);
  try {
    if (!transcriptMacFits(secret, request.sealed.transcript, request.sealed.mac))
      return problemAnswer("pairing_key_invalid");
  } finally {
    secret.fill(0);
  }
  const reason = unsignedProblem(request);
  if (reason !== null) return reason;
  const merchant = readMerchant(store.database, key.merchant);
  invariant(merchant !== undefined, "a key's merchant is in the table");
  const barred = keyProblem(key, merchant, client, clock());
  if (barred !== null) return problemAnswer(barred);
  return keyHasScope(key, "agent:pair")
    ? key
    : problemAnswer("scope_missing", { scope: "agent:pair" });
}

/**
 * Checks that the agent holds every key in its transcript, so that no agent pairs with another's
 * keys or accounts.
 */
function unsignedProblem({ sealed, transcript }: Request): Answer | null {
  const { linkKey, signerKey, accounts } = transcript;
  if (!transcriptSignatureFits(linkKey, sealed.transcript, sealed.linkSignature))
    return problemAnswer("pairing_unsigned", { key: "link" });
  if (!transcriptSignatureFits(signerKey, sealed.transcript, sealed.signerSignature)) {
    return problemAnswer("pairing_unsigned", { key: "signer" });
  }
  const digest = accountDigestOf(sealed.transcript);
  const proofs = sealed.proofs.length === accounts.length ? sealed.proofs : [];
  const unproven = accounts.find(
    (account, index) =>
      findFamilyOfAddressSpace(account.family)?.accounts.proofFits(
        account,
        digest,
        proofs[index] ?? "",
      ) !== true,
  );
  return unproven === undefined
    ? null
    : problemAnswer("pairing_unproven", { account: unproven.id });
}

/**
 * Checks that both sides give each of the agent's names the same meaning. A currency that only the
 * gateway has is not payable, and that is no problem.
 */
function tablesProblem(config: GatewayConfig, transcript: PairingTranscript): Answer | null {
  const networks = new Set(Object.values(config.chains).map((chain) => chain.network));
  const foreign = transcript.networks.find((network) => !networks.has(network));
  if (foreign !== undefined) return problemAnswer("pairing_network_differs", { network: foreign });
  for (const theirs of transcript.currencies) {
    const ours = Object.hasOwn(config.currencies, theirs.id)
      ? config.currencies[theirs.id]
      : undefined;
    if (ours === undefined)
      return problemAnswer("pairing_currency_differs", { currency: theirs.id, field: "id" });
    for (const field of ["network", "contract", "decimal"] as const) {
      if (theirs[field] === ours[field]) continue;
      return problemAnswer("pairing_currency_differs", {
        currency: theirs.id,
        field,
        gateway: ours[field],
        agent: theirs[field],
      });
    }
  }
  return null;
}

interface Registration {
  readonly agent: string;
  readonly merchant: string;
  readonly ledgerEpoch: number;
  readonly at: number; // time of the grant
  readonly isRepeat: boolean; // nothing was written
}

/**
 * Values of each pairing. An address index is never used twice under one account, whichever agent
 * row gave it out.
 */
function pairedBy(
  database: Database,
  merchant: string,
  { transcript, hash, accounts }: Request,
  nowMs: number,
): PairingColumns {
  const deposits = accounts.filter(({ purpose }) => purpose === "deposits");
  return {
    networks: JSON.stringify(transcript.networks),
    currencies: JSON.stringify(transcript.currencies),
    pairedAt: nowMs,
    nextDepositIndex: Math.max(
      0,
      ...deposits.map(({ firstAddress }) =>
        nextDepositIndexUnder(database, merchant, firstAddress),
      ),
    ),
    transcriptHash: hash,
    transcriptAt: transcript.at,
  };
}

function again(database: Database, agent: AgentRow, request: Request, nowMs: number): Registration {
  // A recovery that was begun but replaced by pairing leaves the head unchanged.
  const recovery = recoveryOf(database, agent);
  if (recovery?.takenAt === null)
    restoreLedgerHead(database, agent.id, { seq: recovery.heldSeq, hash: recovery.heldHash });
  pairAgentAgain(database, agent.id, pairedBy(database, agent.merchant, request, nowMs));
  return {
    agent: agent.id,
    merchant: agent.merchant,
    ledgerEpoch: agent.ledgerEpoch + 1,
    at: nowMs,
    isRepeat: false,
  };
}

function first(
  database: Database,
  id: string,
  key: KeyRow,
  request: Request,
  nowMs: number,
): Registration {
  const { transcript, accounts } = request;
  const { wallet, signerKey, linkKey } = transcript;
  insertAgent(database, {
    id,
    merchant: key.merchant,
    wallet,
    ledgerEpoch: 1,
    signerKey,
    linkKey,
    accounts: JSON.stringify(accounts),
    ...pairedBy(database, key.merchant, request, nowMs),
  });
  return { agent: id, merchant: key.merchant, ledgerEpoch: 1, at: nowMs, isRepeat: false };
}

function register(
  database: Database,
  keyId: string,
  request: Request,
  nowMs: number,
): Registration | Answer {
  const { transcript } = request;
  const key = readKey(database, keyId);
  if (key === undefined || key.revokedAt !== null) return problemAnswer("key_revoked");
  const { merchant } = key;
  const id = agentIdOf({
    merchant,
    wallet: transcript.wallet,
    signerKey: transcript.signerKey,
    linkKey: transcript.linkKey,
  });
  const live = agentOfMerchant(database, merchant);
  if (live !== undefined && live.id !== id)
    return problemAnswer("pairing_taken", { agent: live.id });
  const known = readAgent(database, id);
  if (known !== undefined && transcript.at <= known.transcriptAt) {
    const isSame = live !== undefined && known.transcriptHash === request.hash;
    const ledgerEpoch = grantedEpoch(database, known);
    return isSame
      ? { agent: id, merchant, ledgerEpoch, at: known.pairedAt, isRepeat: true }
      : problemAnswer("pairing_replayed");
  }
  if (live !== undefined) {
    const wasAwaited = awaitsRecovery(database, live);
    const registered = again(database, live, request, nowMs);
    if (wasAwaited) recoverFirst(database, registered, nowMs);
    return registered;
  }
  if (key.pairingUsed === 1) return problemAnswer("pairing_used");
  // Coins at these addresses belong to the first merchant that paired them, even after the release
  // of its agent.
  if (isAccountOfOthers(database, merchant, request.accounts))
    return problemAnswer("pairing_wallet_taken");
  useUpPairingRight(database, key.id, nowMs);
  const registered =
    known === undefined
      ? first(database, id, key, request, nowMs)
      : again(database, known, request, nowMs);
  recoverFirst(database, registered, nowMs);
  return registered;
}

/**
 * Begins a recovery if an agent was unpaired before it had caught up, because the database may lack
 * payments of the unpaired agent. So an operator must look at every order of the next agent, as
 * after any recovery. The grant of the new agent is for the epoch before.
 */
function recoverFirst(database: Database, { agent, merchant }: Registration, nowMs: number): void {
  if (!hasAgentUnpairedBeforeCatchUp(database, merchant)) return;
  const row = readAgent(database, agent);
  invariant(row !== undefined, "it was registered in this transaction");
  beginRecovery(database, row, 0, nowMs, "pairing");
}

/**
 * Registers the agent and answers with the grant. The short code is kept, so that `agents` can show
 * it for comparison with the output of `pair`.
 */
function grant(service: Service, keyId: string, request: Request, nowMs: number): Answer {
  const { sealed } = request;
  const outcome = service.store.write(
    (
      database,
    ):
      | { readonly answer: SealedGrant; readonly shortCode: string; readonly by: Registration }
      | Answer => {
      const by = register(database, keyId, request, nowMs);
      if (isAnswer(by)) return by;
      const { agent, merchant, ledgerEpoch, at } = by;
      const answer = sealGrant(
        { version: 1, agent, merchant, ledgerEpoch, transcript: request.hash, at },
        service.key.privateKey,
      );
      const shortCode = shortCodeOf(sealed.transcript, answer.grant);
      const detail = `${shortCode} epoch ${ledgerEpoch}`;
      if (!by.isRepeat)
        recordAct(database, { at: nowMs, actor: keyId, act: "paired", subject: agent, detail });
      return { answer, shortCode, by };
    },
  );
  if (isAnswer(outcome)) return outcome;
  const { agent, merchant, ledgerEpoch } = outcome.by;
  if (!outcome.by.isRepeat)
    service.log.info(
      { event: "agent-paired", agent, merchant, ledgerEpoch, shortCode: outcome.shortCode },
      "an agent paired; compare the short code with the one pair printed",
    );
  return dataAnswer(outcome.answer);
}

/**
 * Pairs, or answers with a code that says what differs. The same body again gets the same answer
 * and changes nothing. A newer transcript of the same keys raises the epoch and replaces networks
 * and currencies.
 */
export function pairAgent(service: Service, body: Uint8Array, client: ClientAddress): Answer {
  const request = read(body);
  if (isAnswer(request)) return request;
  const { transcript } = request;
  if (transcript.gatewayFingerprint !== service.key.fingerprint)
    return problemAnswer("pairing_other_gateway");
  const key = proven(service, request, client);
  if (isAnswer(key)) return key;
  const nowMs = service.clock();
  if (Math.abs(nowMs - transcript.at) > clockDifferenceMaxMs)
    return problemAnswer("pairing_clock", { gatewayAt: nowMs, agentAt: transcript.at });
  const reason = tablesProblem(service.config, transcript);
  return reason ?? grant(service, key.id, request, nowMs);
}
