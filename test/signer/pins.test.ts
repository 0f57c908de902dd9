/** Exclusion by the pin: no two attempts of a withdrawal can both be paid. */
import { describe, expect, it } from "vitest";
import {
  type OfferedAttempt,
  refuseIfCoinsUnspendable,
} from "../../agent/signer/handlers/intent.ts";
import { OwedCoins } from "../../agent/signer/state/owed-coins.ts";
import type { TxParams } from "../../chains/family.ts";
import { decodeTransaction } from "../../chains/utxo/raw-transaction.ts";
import { figuresOf, txParamsOf } from "../../chains/utxo/tx-params.ts";
import type { AnyAnswer } from "../../lab/kit/signer-kit.ts";
import { evidenceFor, type MadeCoin, scriptOf } from "../chains/utxo-values.ts";
import {
  cancelled,
  coinKit,
  made,
  network,
  raised,
  row,
  satPerKvB,
  sender,
  shop,
  values,
} from "../support/coin-kit.ts";
import { backup, databaseOf, recovered, restore } from "../support/recovery-offer.ts";

describe("exclusion by the pin", () => {
  it("a withdrawal is paid from coins whose makers were shown, and its account begins by itself", () => {
    const kit = coinKit();
    const coin = made(500_000n);
    const id = kit.released([coin]);
    expect(kit.inputsOf(id)).toEqual([coin.id]);
    expect(kit.show(id)).toMatchObject({ state: "released", account: sender, slot: "0" });
  });

  it("nothing is signed without the transaction that made a coin, with another one, or with another amount", () => {
    const kit = coinKit();
    const id = kit.order();
    const coin = made(500_000n);
    expect(kit.sign(id, [coin], []).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.sign(id, [coin], [made(500_000n).made]).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.sign(id, [{ ...coin, units: 600_000n }]).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.sign(id, [values.coin(values.script("p2wpkh"), 500_000n)]).code).toBe(
      "TRANSACTION_EVIDENCE",
    );
    const [small, beside] = [made(90_000n), made(80_000n)];
    expect(kit.sign(id, [small, { ...beside, units: 85_000n }]).code).toBe("TRANSACTION_EVIDENCE");
    expect(kit.kinds()).not.toContain("INTENT");
    expect(kit.sign(id, [small, beside]).ok).toBe(true);
  });

  it("the pin of a first attempt is one that the gateway named in this run, for this account with this amount", () => {
    const kit = coinKit();
    kit.namesPins = false;
    const [pin, other] = [made(90_000n), made(80_000n)];
    const id = kit.order();
    kit.sight({ orders: [id] });
    const word = { network, account: sender, id: pin.id, units: `${pin.units}` };
    const unnamed = () => expect(kit.sign(id, [pin, other]).code).toBe("ACCOUNT_PIN_UNNAMED");
    unnamed();
    const wrong = { units: "90001", account: shop, network: "bip122:other", id: other.id };
    for (const [field, value] of Object.entries(wrong)) {
      expect(kit.sight({ coins: [{ ...word, [field]: value }] }).ok).toBe(true);
      unnamed();
    }
    const frame = kit.gateway.sightings(kit.nonce, { coins: [word] });
    const othersRun = kit.gateway.sightings("ab".repeat(32), { coins: [word] });
    expect(kit.ask("sightings", { frames: [othersRun] }).code).toBe("SIGHTINGS_OTHER_RUN");
    unnamed();
    expect(kit.ask("sightings", { frames: [frame] }).ok).toBe(true);
    kit.crash();
    kit.handshake();
    expect(kit.ask("sightings", { frames: [frame] }).code).toBe("SIGHTINGS_OTHER_RUN");
    kit.sight({ orders: [id] });
    unnamed();
    expect(kit.kinds()).not.toContain("INTENT");
    kit.sight({ coins: [word] });
    // The other coin needs no word, and later attempts spend the same pin.
    expect(kit.sign(id, [pin, other]).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(id)).toEqual([pin.id, other.id]);
    const coins = [pin, other, made(70_000n)];
    const txParams = raised(kit, id, coins);
    expect(
      kit.ask("replace", {
        transactionId: id,
        above: 1,
        txParams,
        evidence: evidenceFor(txParams, coins),
      }).ok,
    ).toBe(true);
  });

  it("a coin that was named long ago is asked about again: some thousand are kept", () => {
    const kit = coinKit();
    kit.namesPins = false;
    const [pin, late] = [made(500_000n), made(400_000n)];
    const wordOf = ({ id, units }: typeof pin) => ({
      network,
      account: sender,
      id,
      units: `${units}`,
    });
    kit.sight({ coins: [wordOf(pin)] });
    for (let frame = 0; frame < 256; frame += 1) {
      const coins = Array.from({ length: 16 }, (_, at) => ({
        ...wordOf(pin),
        id: `${(frame * 16 + at).toString(16).padStart(64, "0")}:0`,
      }));
      expect(kit.sight({ coins }).ok).toBe(true);
    }
    const cleared = (): string => {
      const id = kit.order();
      kit.sight({ orders: [id] });
      return id;
    };
    expect(kit.sign(cleared(), [pin]).code).toBe("ACCOUNT_PIN_UNNAMED");
    kit.sight({ coins: [wordOf(late)] });
    expect(kit.sign(cleared(), [late]).ok).toBe(true);
  });

  it("a withdrawal whose coin no node of the gateway shows takes the place of no other of its account", () => {
    const kit = coinKit();
    const lost = kit.released([made(500_000n)]);
    // As many as an account may have in no block.
    kit.core.accounts.find(network, sender)!.pending = 512;
    const next = kit.order();
    expect(kit.sign(next, [made(400_000n)]).code).toBe("ACCOUNT_FULL");
    kit.receive();
    kit.now += 1;
    kit.release(kit.gateway.ack(kit.gateway.stored!, { at: kit.now, unreachable: [lost] }));
    expect(kit.show(lost).code).toBe("COIN_UNKNOWN");
    expect(kit.operate("status").status.unreachable).toMatchObject({
      transactionId: lost,
      code: "COIN_UNKNOWN",
      count: 1,
    });
    expect(kit.operate("end", { transactionId: lost, slot: "", approver: "ann" }).code).toBe(
      "REPLACEMENT_REACHABLE",
    );
    expect(kit.sign(next, [made(400_000n)]).ok).toBe(true);
  });

  it("a coin of an open withdrawal pays no other, and any other coin does", () => {
    const kit = coinKit();
    const [first, second] = [made(500_000n), made(400_000n)];
    const one = kit.released([first]);
    const two = kit.order();
    expect(kit.sign(two, [first])).toMatchObject({
      code: "ACCOUNT_PIN_TAKEN",
      detail: expect.stringContaining(one),
    });
    expect(kit.sign(two, [second]).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(two)).toEqual([second.id]);
  });

  it("a coin is free again once its withdrawal was cancelled by the pin and the gateway has ended it", () => {
    const kit = coinKit();
    const [pin, more] = [made(90_000n), made(80_000n)];
    const one = kit.released([pin, more]);
    expect(kit.inputsOf(one)).toEqual([pin.id, more.id]);
    cancelled(kit, one);
    const { txHash } = kit.show(one).attempts[1]!;
    expect(kit.inputsOf(one, 2)).toEqual([pin.id]);
    kit.ask("observed", {
      transactionId: one,
      stage: "final",
      outcome: "cancelled",
      txHash,
      block: 9,
    });
    const two = kit.order();
    const coins = [more, made(70_000n)];
    expect(kit.sign(two, coins).code).toBe("ACCOUNT_PIN_TAKEN");
    kit.gateway.ended.add(one);
    kit.acknowledge();
    expect(kit.sign(two, coins).ok).toBe(true);
  });

  it.each(["paid", "cancelled", "conflicted"])(
    "a coin with which a payment closed as %s pays no other, even if nodes still show it, over a crash too",
    (outcome) => {
      const kit = coinKit();
      const pin = made(500_000n);
      const one = kit.released([pin]);
      if (outcome === "cancelled") cancelled(kit, one);
      const { attempts } = kit.show(one);
      const { txHash } = attempts.at(-1)!;
      kit.ask("observed", { transactionId: one, stage: "final", outcome, txHash, block: 9 });
      kit.gateway.ended.add(one);
      kit.acknowledge();
      expect([...kit.core.book.open()]).toEqual([]);
      const two = kit.order();
      const spent = { code: "ACCOUNT_COIN_SPENT", detail: `${pin.id}:${pin.units}` };
      expect(kit.sign(two, [pin])).toMatchObject(spent);
      kit.crash();
      kit.handshake();
      expect(kit.sign(two, [pin])).toMatchObject(spent);
      // A text with another amount is of the same coin.
      expect(kit.sign(two, [{ ...pin, units: 400_000n }]).code).toBe("ACCOUNT_COIN_SPENT");
      expect(kit.sign(two, [made(600_000n)]).ok).toBe(true);
    },
  );

  it("each later attempt spends the pin, needs no evidence for it, and evidence for a coin that it adds", () => {
    const kit = coinKit();
    const [pin, more, other] = [made(101_000n), made(300_000n), made(900_000n)];
    const id = kit.released([pin]);
    const ask = (txParams: TxParams, evidence: readonly string[]): AnyAnswer =>
      kit.ask("replace", { transactionId: id, above: 1, txParams, evidence });
    const wrong = kit.offerOf([other]);
    expect(ask(wrong, evidenceFor(wrong, [other]))).toMatchObject({
      code: "ACCOUNT_PIN_OTHER",
      detail: `${pin.id}:${pin.units}`,
    });
    const figures = figuresOf(kit.offerOf([other, pin]));
    const behind = txParamsOf({
      ...figures,
      coins: [other, pin],
      changeSat: [900_000n + 101_000n - 100_000n - 5_000n],
      feeSat: 5_000n,
    });
    expect(ask(behind, [other.made]).code).toBe("ACCOUNT_PIN_OTHER");
    const next = raised(kit, id, [more], satPerKvB * 10n);
    expect(figuresOf(next).coins.map((coin) => coin.id)).toEqual([pin.id, more.id]);
    expect(ask(next, []).code).toBe("TRANSACTION_EVIDENCE");
    expect(ask(next, ["", more.made]).code).toBe("JSON_SHAPE");
    expect(ask(next, ["00", more.made]).ok).toBe(true);
    kit.acknowledge();
    expect(kit.inputsOf(id, 2)).toEqual([pin.id, more.id]);
  });

  it("an operator's cancel pays the pin back to the account, without evidence", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    cancelled(kit, id);
    const signed = kit.statements.flatMap(({ entries }) =>
      entries.filter(({ kind }) => kind === "signed"),
    );
    const text = `${pin.id}:${pin.units}`;
    expect(signed).toMatchObject([{ pin: text }, { pin: text, cancel: true }]);
    const { transaction } = decodeTransaction(
      Buffer.from(kit.show(id).attempts[1]!.raw!.slice(2), "hex"),
    )!;
    const hexOf = (script: Uint8Array): string => Buffer.from(script).toString("hex");
    expect(transaction.outputs.map(({ script }) => hexOf(script))).toEqual([
      hexOf(scriptOf(sender, row)),
    ]);
    expect(kit.inputsOf(id, 2)).toEqual([pin.id]);
  });

  it("a replacement costs more than what was signed before: the same bytes again are no attempt", () => {
    const kit = coinKit();
    const pin = made(500_000n);
    const id = kit.released([pin]);
    kit.now += 60_000;
    const again = (txParams: TxParams) =>
      kit.askAtOnce("replace", { transactionId: id, above: 1, txParams, evidence: [pin.made] });
    const { txParams } = kit.show(id).attempts[0]!;
    expect(again(txParams!)).toMatchObject({ ok: false, code: "TRANSACTION_FIELD" });
    const figures = figuresOf(txParams!);
    const higher = txParamsOf({
      ...figures,
      changeSat: [figures.changeSat[0]! - 1n, ...figures.changeSat.slice(1)],
      feeSat: figures.feeSat + 1n,
    });
    expect(again(higher)).toMatchObject({ ok: true });
  });

  it("a pin that another transaction took ends the payment with an alarm and without a lock", () => {
    const kit = coinKit();
    const [first, second] = [kit.released([made(500_000n)]), kit.order()];
    const lost = {
      stage: "final",
      outcome: "conflicted",
      txHash: kit.show(first).attempts[0]!.txHash,
      block: 0,
    } as const;
    expect(kit.ask("observed", { transactionId: first, ...lost }).withdrawal.state).toBe(
      "conflicted",
    );
    expect(kit.records().filter(({ kind }) => kind === "ALARM" || kind === "LOCKED")).toMatchObject(
      [
        {
          kind: "ALARM",
          code: "CHAIN_SLOT_CONFLICTED",
          detail: expect.stringContaining(`the coin ${kit.show(first).attempts[0]!.pin}`),
        },
      ],
    );
    expect(kit.sign(second, [made(600_000n)]).ok).toBe(true);
  });

  it("after a recovery the gateway's word for the pin is no proof of its amount", () => {
    const coin = made(500_000n);
    const account = {
      network,
      account: sender,
      adopted: "0",
      next: "1",
      pending: 0,
      lastTimestamp: 0n,
    };
    const refusalOf = (
      told: MadeCoin,
      evidence?: readonly string[],
      approval: object | null = {},
      beside: MadeCoin[] = [],
    ) => {
      const attempts = [
        { attempt: 1, txParams: null, pin: `${told.id}:${told.units}`, txHash: "00".repeat(32) },
      ];
      const withdrawal = {
        job: { network },
        account: sender,
        attempts,
      } as unknown as OfferedAttempt["withdrawal"];
      const kit = coinKit();
      const txParams = {
        ...kit.offerOf([told]),
        coins: [told, ...beside].map(({ id, units }) => `${id}:${units}`).join(","),
      };
      const offer = { withdrawal, approval, account, slot: "0", txParams, evidence };
      return refuseIfCoinsUnspendable(kit.signer.context(), offer)?.code ?? "";
    };
    expect(refusalOf(coin)).toBe("TRANSACTION_EVIDENCE");
    expect(refusalOf({ ...coin, units: 900_000n }, [coin.made])).toBe("TRANSACTION_EVIDENCE");
    expect(refusalOf(coin, [coin.made])).toBe("");
    // The signature of a cancel of one coin commits to the amount; one of two could hide a fee.
    expect(refusalOf(coin, [], null)).toBe("");
    expect(refusalOf(coin, [], null, [made(1_000n)])).toBe("TRANSACTION_EVIDENCE");
  });

  it("a coin that another open withdrawal holds is taken, whatever amount a recovery told of it", () => {
    const [coin, other] = [made(500_000n), made(500_000n)];
    const account = {
      network,
      account: sender,
      adopted: "0",
      next: "1",
      pending: 0,
      lastTimestamp: 0n,
    };
    const withdrawalOf = (attempts: readonly object[]) =>
      ({
        transactionId: "t",
        job: { network },
        account: sender,
        attempts,
      }) as unknown as OfferedAttempt["withdrawal"];
    const refusalBeside = (pin: string): string => {
      const held = withdrawalOf([{ attempt: 1, txParams: null, pin, txHash: "00".repeat(32) }]);
      const context = {
        core: { book: { open: () => [held], spenderOf: () => undefined }, owed: new OwedCoins() },
        run: { sightings: { names: () => true } },
      } as unknown as Parameters<typeof refuseIfCoinsUnspendable>[0];
      const offer = {
        withdrawal: withdrawalOf([]),
        approval: {},
        account,
        slot: "0",
        evidence: [coin.made],
      };
      return (
        refuseIfCoinsUnspendable(context, { ...offer, txParams: coinKit().offerOf([coin]) })
          ?.code ?? ""
      );
    };
    expect(refusalBeside(`${coin.id}:${coin.units}`)).toBe("ACCOUNT_PIN_TAKEN");
    expect(refusalBeside(`${coin.id}:900000`)).toBe("ACCOUNT_PIN_TAKEN");
    expect(refusalBeside(`${other.id}:${coin.units}`)).toBe("");
    expect(refusalBeside("")).toBe("");
  });

  it("after a recovery an operator's cancel spends the pin alone and needs no proof of it, whatever else is known", () => {
    const pin = made(500_000n);
    for (const isSignedAgain of [false, true]) {
      const kit = coinKit();
      const before = backup(kit);
      const id = kit.released([pin]);
      const known = databaseOf(kit);
      restore(kit, before);
      recovered(kit, known);
      kit.now += 60_000;
      kit.handshake();
      kit.acknowledge();
      const next = {
        transactionId: id,
        above: 1,
        txParams: kit.offerOf([pin], 3_000n),
        evidence: [pin.made],
      };
      if (isSignedAgain) expect(kit.askAtOnce("replace", next).ok).toBe(true);
      kit.acknowledge();
      cancelled(kit, id);
      const { attempts } = kit.show(id);
      expect(attempts.map(({ isCancel }) => isCancel === true)).toEqual(
        isSignedAgain ? [false, false, true] : [false, true],
      );
      expect(kit.inputsOf(id, attempts.length)).toEqual([pin.id]);
    }
  });

  it("the gateway learns the pin with each signature, and a crash between record and signature changes no coin", () => {
    const kit = coinKit();
    const [pin, other] = [made(500_000n), made(600_000n)];
    const id = kit.order();
    kit.send("sign", { transactionId: id, txParams: kit.offerOf([pin]), evidence: [pin.made] });
    kit.settle();
    kit.crash();
    kit.handshake();
    const txParams = kit.offerOf([other]);
    kit.ask("sign", { transactionId: id, txParams, evidence: [other.made] });
    kit.acknowledge();
    expect(kit.inputsOf(id)).toEqual([pin.id]);
    const signed = kit.statements
      .flatMap(({ entries }) => entries)
      .filter(({ kind }) => kind === "signed");
    expect(signed).toMatchObject([{ transactionId: id, pin: `${pin.id}:${pin.units}` }]);
  });
});
