/**
 * A payment that moved something else, on a chain whose attempts exclude each other only by expiry:
 * no operator ends it while another attempt of the order may still come into a block.
 */
import { expect, it } from "vitest";
import { openWatcher } from "../../chains/connect.ts";
import type { GatewayConfig } from "../../gateway/config/config.ts";
import { readSecretFile } from "../../gateway/config/secret-file.ts";
import {
  endWithdrawalByMoved,
  type MovedEvidenceReader,
  readMovedEvidence,
} from "../../gateway/operator/moving.ts";
import { nodeLog } from "../../gateway/watcher/node-log.ts";
import { silentLog } from "../../lab/kit/gateway-database.ts";
import { sender } from "../support/tron-network.ts";
import {
  addAttempt,
  audit,
  clock,
  configOf,
  db,
  eachTestItsNetwork,
  isVoid,
  mineUntilSolid,
  outlive,
  receiver,
  row,
  run,
  sign,
  testNetwork,
  until,
  watch,
  withdrawal,
} from "../support/waiting-gateway.ts";

eachTestItsNetwork();

const lessUnits = 4_000_000n;

const look: MovedEvidenceReader = async (asked, attempts) => {
  const chain = (configOf() as GatewayConfig).chains.testnet!;
  const reader = openWatcher({ chain, readSecretFile, log: nodeLog(silentLog, "testnet") });
  try {
    return await readMovedEvidence(reader, asked, attempts);
  } finally {
    reader.close();
  }
};

const ends = (id: string) => {
  const by = { store: db.store, nowMs: clock.nowMs, actor: "operator ann", run } as never;
  const moving = {
    receivedUnits: lessUnits,
    sentUnits: lessUnits,
    reason: "an agent that pays less",
  };
  return endWithdrawalByMoved(
    by,
    configOf() as GatewayConfig,
    { operation: "withdraw", id },
    moving,
    look,
  );
};

it("withdrawals moved waits on Tron until each other attempt of the order is void", async () => {
  const id = withdrawal(1);
  const { chain } = testNetwork.node;
  const expirationMs = chain.blocks[chain.solid]!.timestampMs + 120_000;
  const less = testNetwork.coins(sender, receiver, Number(lessUnits), { expirationMs });
  addAttempt(id, 1, { txHash: less.txID, validUntilMs: expirationMs });
  const other = sign(id, 2);
  await watch();
  await testNetwork.send(less);
  mineUntilSolid(chain.blocks[chain.solid]!.timestampMs + 60_000);
  await until(() => row(id).stage === "stuck");
  expect(await ends(id)).toMatchObject({
    ...{ ok: false, code: "GATEWAY_NOT_MOVED" },
    detail: expect.stringMatching(/another attempt of it may still be in a block/),
  });
  expect([row(id).status, audit().filter(({ act }) => act === "moved payment ended")]).toEqual([
    0,
    [],
  ]);
  outlive(other);
  await until(() => isVoid(other.txHash));
  expect(await ends(id)).toMatchObject({ ok: true });
  expect(row(id)).toMatchObject({
    ...{ status: 2, stage: "failed", code: "chain_moved", txHash: less.txID },
    receivedUnits: `${lessUnits}`,
  });
});
