/**
 * Rows of a gateway that has run for long, made inside the store's own schema by a statement for
 * each table: addresses of ended requests, and ended payouts with their jobs, signatures and slots.
 */
import { addressSpaceOf } from "../../chains/network-names.ts";
import type { Store } from "../../gateway/store/store.ts";

const dayMs = 86_400_000;

interface Grown {
  readonly agents: number; // `agent 1` of merchant `n1`, and so on, are there
  readonly count: number;
  readonly network: string;
}

const numbers =
  "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)";
const depositColumns = `id, merchant, origin, orderId, contentHash, currency, network, amount, units, toleranceUnits, address,
  payTo, status, stage, finalBlock, createdAt, changedAt, expiresAt`;
const transferColumns = `id, operation, merchant, contentHash, currency, network, amount, units, receiver, payer, status, stage,
  txHash, feeUnits, finalBlock, createdAt, changedAt, expiresAt`;

/**
 * Addresses of requests of the last days: nine of ten expired, one of ten was paid less than a
 * sweep costs. All were compared lately.
 */
export function fillAddresses(
  store: Store,
  { agents, count, network, atMs }: Grown & { readonly atMs: number },
): void {
  const id = "printf('%032x', 1000000000 + n)";
  const address = "printf('0x%040x', 1000000000 + n)";
  const merchant = "'n' || (1 + n % ?)";
  store.write((database) => {
    database.run(
      `${numbers} INSERT INTO deposits (${depositColumns})
       SELECT ${id}, ${merchant}, 'ordered', 'request-' || n, '00', 'eth', ?, '1', '1000', '0', ${address}, ${address},
         2 - (n % 10 = 0), 'expired', 5, ? - n * 1000, ? - n * 1000, ? - n * 1000 FROM numbers`,
      ...[count, agents, network, atMs - dayMs, atMs - dayMs, atMs - dayMs / 2],
    );
    database.run(
      `${numbers} INSERT INTO addresses (address, addressSpace, merchant, agent, addressIndex, origin, request, at)
       SELECT ${address}, ?, ${merchant}, 'agent ' || (1 + n % ?), 1000000 + n, 'given', ${id}, 0 FROM numbers`,
      ...[count, addressSpaceOf(network), agents, agents],
    );
    database.run(
      `${numbers} INSERT INTO addressStates (network, address, block, isUsed, comparedAt, run)
       SELECT ?, ${address}, 5, 0, ? - n % 1000, '' FROM numbers`,
      ...[count, network, atMs],
    );
    database.run(
      `${numbers} INSERT INTO payments (network, txHash, logIndex, address, currency, units, block, blockHash, final, transactionId)
       SELECT ?, printf('0x%064x', n), 0, ${address}, 'eth', '1000', 5, 'hash 5', 1, ${id} FROM numbers WHERE n % 10 = 0`,
      ...[count, network],
    );
    database.run(
      `INSERT INTO accounts (address, network, currency, merchant, kind, units, heldUnits)
       SELECT p.address, p.network, p.currency, d.merchant, 'deposit', p.units, '0' FROM payments p JOIN deposits d ON d.id = p.transactionId`,
    );
    database.run(
      `INSERT INTO moves (network, currency, units, fromSide, toSide, kind, block, cause, part)
       SELECT network, currency, units, '@customers', address, 'payment', block, 'payment:' || network || ':' || txHash || ':0', 0 FROM payments`,
    );
    database.run("DELETE FROM callbackChanges");
  });
}

/** Ended payouts; one of ten has its job, signature, slot, transaction and a taken callback. */
export function fillRecords(
  store: Store,
  { agents, count, network, hotOf }: Grown & { readonly hotOf: (at: number) => string },
): void {
  const id = "printf('%032x', n)";
  const hash = "printf('0x%064x', 1000000000 + n)";
  const hot = `'${hotOf(0).slice(0, 34)}' || printf('%08x', 1 + n % ?)`;
  const agent = "'agent ' || (1 + n % ?)";
  const merchant = "'n' || (1 + n % ?)";
  const tenth = "FROM numbers WHERE n % 10 = 0";
  store.write((database) => {
    database.run(
      `${numbers} INSERT INTO transfers (${transferColumns})
       SELECT ${id}, 'withdraw', ${merchant}, '00', 'eth', ?, '1', '1000', '${hotOf(0)}', ${hot},
         1 + (n % 300 = 0), 'completed', ${hash}, '1', 5, 1700000000000 + n * 10, 1700000000000 + n * 10, 1800000000000 FROM numbers`,
      ...[count, agents, network, agents],
    );
    database.run(
      `${numbers} INSERT INTO withdrawals (id, merchant, orderId, mode) SELECT ${id}, ${merchant}, 'order-' || n, 'auto' FROM numbers`,
      ...[count, agents],
    );
    database.run(
      `${numbers} INSERT INTO jobs (agent, sequence, hash, text, transactionId, answeredAt) SELECT ${agent}, n, '', '{}', ${id}, 1 ${tenth}`,
      ...[count, agents],
    );
    database.run(
      `${numbers} INSERT INTO signatures (transactionId, attempt, agent, network, account, slot, txHash, feeMax, seq)
       SELECT ${id}, 1, ${agent}, ?, ${hot}, n, ${hash}, '1', n ${tenth}`,
      ...[count, agents, network, agents],
    );
    database.run(
      `${numbers} INSERT INTO slots (network, account, slot, transactionId) SELECT ?, ${hot}, n, ${id} ${tenth}`,
      ...[count, network, agents],
    );
    database.run(
      `${numbers} INSERT INTO outgoing (network, account, slot, txHash, block, receiver, tag, contract, units)
       SELECT ?, ${hot}, n, ${hash}, 5, '${hotOf(0)}', '', '', '1000' ${tenth}`,
      ...[count, network, agents],
    );
    database.run("DELETE FROM callbackChanges");
  });
}
