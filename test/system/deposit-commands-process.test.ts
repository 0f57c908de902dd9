/**
 * The commands that end a state of a deposit, each typed as a process beside the real gateway: for
 * a payment whose block left the chain, for a transaction and a row that cannot be read, and for a
 * gap on XRP. What a command says is compared by code and field, and its effect is read back by
 * another command and by REST. Then the same commands with the database held, and with the gateway
 * stopped.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stop, until } from "../../lab/kit/processes.ts";
import { rpc } from "../../lab/kit/rpc.ts";
import { person } from "../../lab/xrp-node/people.ts";
import { xrpNodeMissing } from "../../lab/xrp-node/xrp-node.ts";
import { startsTheBuild } from "../support/built.ts";
import { type OperatorWorld, startOperatorWorld } from "../support/operator-world.ts";
import { done, refusal, usage } from "../support/typed-commands.ts";

const waitMs = 120_000;
const why = ["--reason", "seen in a block explorer"] as const;
const unknownId = "ab".repeat(16);
const unknownHash = `0x${"ab".repeat(32)}`;
const xrp = 1_000_000n;

if (xrpNodeMissing !== null) process.stderr.write(`\n*** SKIPPED: ${xrpNodeMissing}\n\n`);

startsTheBuild();

describe.skipIf(xrpNodeMissing !== null)("commands that end a state of a deposit", () => {
  let world: OperatorWorld;
  const type = (...words: string[]) => world.type(...words);
  const ask = async (currency: string, amount: string, orderId: string) =>
    world.shop.deposit(currency, amount, orderId);
  const record = (id: string) => world.shop.transaction(id, 1);
  const ids = ({ json }: { json: unknown }) =>
    (json as { transactionId: string }[]).map(({ transactionId }) => transactionId).sort();

  /** A list by a command, once it is like that. */
  const listed = <T>(
    is: (rows: readonly T[]) => boolean,
    ...words: string[]
  ): Promise<readonly T[]> => {
    let last: unknown;
    return until(
      words.join(" "),
      waitMs,
      async () => {
        last = JSON.parse(await world.kit.operate(...words, "--json"));
        return is(last as T[]) ? (last as T[]) : undefined;
      },
      () => `${JSON.stringify(last)}\n${world.kit.gateway?.output().slice(-3_000)}`,
    );
  };
  const faults = (is: (names: readonly string[]) => boolean) =>
    listed<{ fault: string }>((rows) => is(rows.map(({ fault }) => fault)), "faults").then((rows) =>
      rows.map(({ fault }) => fault),
    );

  /** Takes the blocks from one on out of the chain, with all that they held. */
  async function replaceFrom(block: number): Promise<void> {
    const head = Number(await rpc(world.kit.anvil.url, "eth_blockNumber"));
    await rpc(world.kit.anvil.url, "anvil_reorg", [head - block + 1, []]);
    await rpc(world.kit.anvil.url, "evm_setTime", [Math.floor(Date.now() / 1_000)]);
    await world.settle();
  }

  async function blockOf(hash: string): Promise<number> {
    return until("its block", waitMs, async () => {
      const found = (await rpc(world.kit.anvil.url, "eth_getTransactionByHash", [hash])) as {
        blockNumber: string | null;
      };
      return found.blockNumber === null ? undefined : Number(found.blockNumber);
    });
  }

  beforeAll(async () => {
    world = await startOperatorWorld();
  }, 240_000);
  afterAll(async () => {
    await world?.close();
  });

  let kept = "";

  it("deposits list --reorged, revoke and keep: of two payments that left the chain one is taken back until it comes again, the other stays", {
    timeout: 300_000,
  }, async () => {
    const [back, lost] = [await ask("eth", "0.5", "back"), await ask("eth", "0.25", "lost")];
    kept = lost.transactionId;
    const paid = await world.pay(back.address, "0.5");
    await world.pay(lost.address, "0.25");
    const from = await blockOf(paid.hash);
    await world.settle();
    for (const { transactionId } of [back, lost]) await world.becomes(transactionId, { status: 1 });
    for (const how of ["revoke", "keep"]) {
      expect(await type("deposits", how, kept, ...why)).toEqual(refusal("GATEWAY_NOT_REORGED"));
      expect(await type("deposits", how, unknownId, ...why)).toEqual(
        refusal("GATEWAY_UNKNOWN_RECORD"),
      );
      expect(await type("deposits", how, kept)).toEqual(usage);
    }
    await replaceFrom(from);
    await listed((rows) => rows.length === 2, "deposits", "list", "--reorged");
    expect(ids(await type("deposits", "list", "--reorged"))).toEqual(
      [back.transactionId, kept].sort(),
    );

    const gone = { txHash: paid.hash, currency: "eth", amount: "0.5", block: from };
    expect(await type("deposits", "revoke", back.transactionId, ...why)).toEqual(
      done(
        expect.objectContaining({
          ...{
            transactionId: back.transactionId,
            status: 2,
            stage: "reorged",
            code: "deposit_reorged",
            amountReceived: "0",
          },
          ...{ decided: [{ ...gone, state: "revoked" }], paidBack: "0" },
        }),
      ),
    );
    expect(await record(back.transactionId)).toMatchObject({
      status: 2,
      stage: "reorged",
      code: "deposit_reorged",
    });
    expect((await type("deposits", "revoke", back.transactionId, ...why)).json).toMatchObject({
      status: 2,
      decided: [],
    });
    expect(await type("deposits", "keep", back.transactionId, ...why)).toEqual(
      refusal("GATEWAY_NOT_REORGED"),
    );

    expect(await type("deposits", "keep", kept, ...why)).toEqual(
      done(
        expect.objectContaining({
          transactionId: kept,
          status: 1,
          decided: [expect.objectContaining({ state: "kept" })],
        }),
      ),
    );
    expect(await record(kept)).toMatchObject({ status: 1, amountReceived: "0.25" });
    expect(await type("deposits", "list", "--reorged")).toEqual(done([]));
    const shown = (await type("deposits", "show", back.transactionId)).json as {
      leftChain: object[];
      acts: { act: string }[];
    };
    expect(shown.leftChain).toEqual([{ ...gone, state: "revoked" }]);
    expect(shown.acts.filter(({ act }) => act === "deposit revoked")).toHaveLength(1);

    await rpc(world.kit.anvil.url, "eth_sendRawTransaction", [paid.raw]);
    await blockOf(paid.hash);
    await world.settle();
    await world.becomes(back.transactionId, { status: 1, amountReceived: "0.5" });
  });

  it("deposits reread and faults --retry: a transaction that could not be read counts once it can", {
    timeout: 300_000,
  }, async () => {
    const odd = new Set<string>();
    world.lie = ({ method, params }, answer) => {
      const isOdd = method === "eth_getTransactionReceipt" && odd.has(String(params[0]));
      if (!isOdd || !("result" in answer) || answer.result === null) return answer;
      return { result: { ...(answer.result as object), status: "0x7" } };
    };
    const paid: { readonly id: string; readonly hash: string; readonly name: string }[] = [];
    for (const orderId of ["first", "second"]) {
      const { address, transactionId: id } = await ask("eth", "0.125", orderId);
      const { hash } = await world.pay(address, "0.125");
      odd.add(hash);
      const block = await blockOf(hash);
      paid.push({ id, hash, name: `transaction/eip155:31337/${block}/${hash}/${address}` });
      await world.settle();
    }
    const [first, second] = paid as [(typeof paid)[0], (typeof paid)[0]];
    const both = [first.name, second.name].sort();
    expect([...(await faults((names) => names.length === 2))].sort()).toEqual(both);
    const [row] = (await type("faults")).json as { domain: string; code: string; ends: string }[];
    expect(row).toMatchObject({ domain: "transaction", code: "NODE_ANSWER" });
    expect(paid.some(({ hash }) => row?.ends.includes(`deposits reread ${hash}`))).toBe(true);

    expect(await type("deposits", "reread", unknownHash)).toEqual(refusal("GATEWAY_NOT_UNREAD"));
    expect(await type("deposits", "reread", "not hex")).toEqual(refusal("GATEWAY_NOT_UNREAD"));
    expect(await type("deposits", "reread", first.name)).toEqual(refusal("GATEWAY_NOT_UNREAD"));
    expect(await type("faults", "--retry", first.hash)).toEqual(refusal("GATEWAY_UNKNOWN_FAULT"));
    expect(await type("faults", "--give-up", first.name, ...why)).toEqual(
      refusal("GATEWAY_UNKNOWN_FAULT"),
    );
    expect(await type("faults", "--retry", first.name, "--give-up", first.name, ...why)).toEqual(
      usage,
    );

    // As after many tries: the next one is a day away, so that only a command brings it.
    const database = world.openDatabase();
    database.prepare("UPDATE unreadTransactions SET retryAt = ?").run(Date.now() + 86_400_000);
    database.close();
    odd.clear();
    const asked = await type("deposits", "reread", first.hash.toUpperCase().replace("0X", "0x"));
    expect(asked).toEqual(
      done([expect.objectContaining({ txHash: first.hash, network: "eip155:31337" })]),
    );
    await world.becomes(first.id, { status: 1, amountReceived: "0.125" });
    expect(await record(second.id)).toMatchObject({ status: 0 });
    expect(await type("deposits", "reread", first.hash)).toEqual(refusal("GATEWAY_NOT_UNREAD"));
    expect(await type("faults", "--retry", second.name)).toEqual(done({ fault: second.name }));
    await world.becomes(second.id, { status: 1, amountReceived: "0.125" });
    expect(await faults((names) => names.length === 0)).toEqual([]);
    expect(await type("faults", "--retry", second.name)).toEqual(refusal("GATEWAY_UNKNOWN_FAULT"));
    world.lie = (_call, answer) => answer;
  });

  it("rows list and retry: a row that cannot be shown is set aside, and is shown again once it is corrected", async () => {
    const { transactionId: id } = await ask("eth", "0.5", "spoiled");
    const write = (metadata: string): void => {
      const database = world.openDatabase();
      database
        .prepare("UPDATE deposits SET metadata = nullif(?, '') WHERE id = ?")
        .run(metadata, id);
      database.close();
    };
    expect(await type("rows", "list")).toEqual(done([]));
    expect(await type("rows", "retry", `record/${id}`)).toEqual(refusal("GATEWAY_UNKNOWN_ROW"));
    write("{");
    expect(await record(id)).toMatchObject({ code: "record_unreadable" });
    const row = { row: `record/${id}`, about: id, code: "BUG" };
    expect(await type("rows", "list")).toEqual(done([expect.objectContaining(row)]));
    write("");
    expect(await type("rows", "retry", unknownId)).toEqual(refusal("GATEWAY_UNKNOWN_ROW"));
    expect(await type("rows", "retry", row.row)).toEqual(done({ rows: [row.row] }));
    expect(await type("rows", "list")).toEqual(done([]));
    expect(await record(id)).toMatchObject({ status: 0, code: "" });
    expect(await type("rows", "retry", row.row)).toEqual(refusal("GATEWAY_UNKNOWN_ROW"));
  });

  it("faults --give-up --by-hand, deposits credit --payment and release: requests of a gap on XRP end one by one", {
    timeout: 300_000,
  }, async () => {
    const [paid, unpaid] = [await ask("xrp", "5", "in-the-gap"), await ask("xrp", "6", "unpaid")];
    const other = await world.otherShop.deposit("xrp", "5", "of-another-merchant");
    const customer = person("customer");
    const [front] = world.xrp.fronts;
    front?.suffer({ methods: ["account_tx"], status: 400, words: "no list of this account" });
    const { hash } = world.xrp.people.pay(customer, paid.address, 5n * xrp, Number(paid.tag));
    const [name = ""] = await faults((names) =>
      names.some((one) => one.includes(`/${paid.address}/`)),
    );
    expect(name).toMatch(/^history\/xrpl:1\/r\w+\/\d+$/);
    expect(await type("faults", "--retry", name)).toEqual(done({ fault: name }));
    expect(await type("deposits", "release", unpaid.transactionId, ...why)).toEqual(
      refusal("GATEWAY_DEPOSIT_NOT_HELD"),
    );
    expect(await type("faults", "--give-up", name, ...why)).toEqual(refusal("GATEWAY_GAP_TAGGED"));
    expect(await type("faults", "--give-up", name, "--by-hand")).toEqual(usage);
    expect(await type("faults", "--give-up", name, "--by-hand", ...why)).toEqual(
      done({ fault: name, held: 2 }),
    );
    expect(await type("faults", "--give-up", name, "--by-hand", ...why)).toEqual(
      done({ fault: name, held: 2 }),
    );
    expect(await type("faults", "--retry", name)).toEqual(refusal("GATEWAY_GAP_GIVEN_UP"));
    front?.suffer({});
    const held = [paid.transactionId, unpaid.transactionId].sort();
    expect(ids(await type("deposits", "list", "--held"))).toEqual(held);

    const credit = (id: string, txHash: string) =>
      type("deposits", "credit", id, "--payment", txHash, ...why);
    expect(await credit(unknownId, hash)).toEqual(refusal("GATEWAY_UNKNOWN_RECORD"));
    expect(await credit(paid.transactionId, "not hex")).toEqual(refusal("GATEWAY_NOT_CREDITED"));
    expect(await credit(paid.transactionId, "AB".repeat(32))).toEqual(
      refusal("GATEWAY_PAYMENT_UNPROVEN"),
    );
    expect(await credit(other.transactionId, hash)).toEqual(refusal("GATEWAY_PAYMENT_UNPROVEN"));
    expect(await record(paid.transactionId)).toMatchObject({ status: 0, amountReceived: "0" });
    const credited = { transactionId: paid.transactionId, status: 1, amountReceived: "5" };
    expect(await credit(paid.transactionId, hash.toLowerCase())).toEqual(
      done(expect.objectContaining(credited)),
    );
    expect(await credit(paid.transactionId, hash)).toEqual(done(expect.objectContaining(credited)));
    expect(await record(paid.transactionId)).toMatchObject({ status: 1, amountReceived: "5" });

    expect(ids(await type("deposits", "list", "--held"))).toEqual([unpaid.transactionId]);
    const release = () => type("deposits", "release", unpaid.transactionId, ...why);
    expect(await release()).toEqual(done({ transactionId: unpaid.transactionId, released: true }));
    expect(await release()).toEqual(refusal("GATEWAY_DEPOSIT_NOT_HELD"));
    expect(await type("deposits", "list", "--held")).toEqual(done([]));
    expect(await record(unpaid.transactionId)).toMatchObject({ status: 0 });
    // Later ledgers of both accounts: the node has them, so that a retry fills them.
    for (const one of await faults((names) => !names.includes(name))) {
      const tried = await type("faults", "--retry", one);
      expect([done({ fault: one }), refusal("GATEWAY_UNKNOWN_FAULT")]).toContainEqual(tried);
    }
    expect(await faults((names) => names.length === 0)).toEqual([]);
  });

  it("a command that finds the database held by another process changes nothing, and does its work afterwards", async () => {
    const database = world.openDatabase();
    database.exec("BEGIN IMMEDIATE");
    try {
      expect(await type("deposits", "revoke", kept, ...why)).toEqual(refusal("GATEWAY_STORE_BUSY"));
      // A list only reads.
      expect(await type("deposits", "list", "--reorged")).toEqual(done([]));
    } finally {
      database.exec("ROLLBACK");
      database.close();
    }
    expect(await record(kept)).toMatchObject({ status: 1 });
  });

  it("each works while the gateway is stopped, and the gateway goes by it after its start", {
    timeout: 300_000,
  }, async () => {
    if (world.kit.gateway !== null) await stop(world.kit.gateway);
    expect((await type("health")).code).toBe(3);
    for (const words of [["faults"], ["rows", "list"], ["deposits", "list", "--held"]])
      expect(await type(...words)).toEqual(done([]));
    expect(await type("deposits", "reread", unknownHash)).toEqual(refusal("GATEWAY_NOT_UNREAD"));
    expect(await type("deposits", "release", kept, ...why)).toEqual(
      refusal("GATEWAY_DEPOSIT_NOT_HELD"),
    );
    const revoked = { transactionId: kept, status: 2, code: "deposit_reorged" };
    expect(await type("deposits", "revoke", kept, ...why)).toEqual(
      done(expect.objectContaining(revoked)),
    );
    await world.kit.startGateway(waitMs);
    expect(await record(kept)).toMatchObject({ status: 2, code: "deposit_reorged" });
  });
});
