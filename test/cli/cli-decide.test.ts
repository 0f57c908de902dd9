/**
 * The requests of the commands to the signer: a decision is bound to the words that were shown,
 * carries a name, and wants a yes.
 */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { kit, run, Screen, usesTheKit } from "../support/command-kit.ts";
import { scenes, twin } from "../support/command-scenes.ts";
import { held, spentCoin, transactionId } from "../support/operator-socket.ts";

usesTheKit();

describe("the commands and the socket", () => {
  it("an approval names the digest of what was shown, and an address only where there was none", async () => {
    await scenes.working?.();
    const named = { address: "", approver: "alice" };
    expect((await run("approve ID --state STATE --yes")).code).toBe(0);
    expect(kit.signer.asked.at(-1)).toEqual({
      verb: "approve",
      transactionId,
      digest: held.approvalDigest,
      ...named,
    });
    await scenes.manual?.();
    expect(
      (await run(`approve ID --state STATE --yes --address ${held.address.toLowerCase()}`)).code,
    ).toBe(0);
    expect(kit.signer.asked.at(-1)).toMatchObject({ verb: "approve", address: held.address });
  });

  it("a name goes with every word, this user's own or the one that is given", async () => {
    await scenes.working?.();
    for (const command of ["approve", "refuse"]) {
      expect((await run(`${command} ID --state STATE --yes`)).code).toBe(0);
      expect(kit.signer.asked.at(-1)).toMatchObject({ verb: command, approver: "alice" });
      expect((await run(`${command} ID --state STATE --yes --as bob@shop`)).code).toBe(0);
      expect(kit.signer.asked.at(-1)).toMatchObject({ verb: command, approver: "bob@shop" });
      const screen = new Screen();
      screen.user = "domain user";
      expect((await run(`${command} ID --state STATE --yes --as carol`, screen)).code).toBe(0);
      const decided = kit.signer.asked.length;
      expect((await run(`${command} ID --state STATE --yes`, screen)).code).toBe(2);
      expect((await run(`${command} ID --state STATE --yes --as ${"a".repeat(65)}`)).code).toBe(2);
      expect(kit.signer.asked).toHaveLength(decided);
    }
  });

  it("an address that is given is looked at before the yes", async () => {
    await scenes.manual?.();
    const { text } = await run(`approve ID --state STATE --yes --address ${twin.toLowerCase()}`);
    expect(kit.signer.asked[1]).toMatchObject({ verb: "show", address: twin });
    expect(text).toContain(`to address      ${twin}\n  LOOKS LIKE      ${held.address}\n`);
  });

  it("a coin is shown before it is freed, in the letters of the chain, under the caller's name", async () => {
    await scenes["coin spent"]?.();
    const typed = spentCoin.coin.toUpperCase();
    expect((await run(`free bitcoin ${typed} --state STATE`)).code).toBe(2);
    const asked = { verb: "freeCoin", chain: "bitcoin", coin: spentCoin.coin, approver: "alice" };
    expect(kit.signer.asked).toEqual([{ ...asked, isLook: true }]);
    expect((await run(`free bitcoin ${typed} --state STATE --yes --as bob`)).code).toBe(0);
    const bobs = { ...asked, approver: "bob" };
    expect(kit.signer.asked.slice(1)).toEqual([{ ...bobs, isLook: true }, bobs]);
    await scenes["coin free"]?.();
    expect((await run(`free bitcoin ${typed} --state STATE --yes`)).code).toBe(0);
    expect(kit.signer.asked.slice(3)).toEqual([{ ...asked, isLook: true }]);
  });

  it("nothing is decided without a yes", async () => {
    await scenes.working?.();
    for (const command of ["approve", "refuse"]) {
      const screen = new Screen();
      screen.isInteractive = true;
      for (const answer of ["no", "y", "YES please", ""]) {
        screen.answer = answer;
        expect((await run(`${command} ID --state STATE`, screen)).code, answer).toBe(1);
      }
      screen.isInteractive = false;
      expect((await run(`${command} ID --state STATE`, screen)).code).toBe(2);
    }
    expect(kit.signer.asked.every(({ verb }) => verb === "show")).toBe(true);
  });

  it("an address that would not be paid to is refused here already", async () => {
    await scenes.manual?.();
    for (const address of ["0x123", held.address.replace("C8", "c8"), `0x${"0".repeat(40)}`]) {
      expect((await run(`approve ID --state STATE --yes --address ${address}`)).code, address).toBe(
        1,
      );
    }
    expect((await run("approve ID --state STATE --yes")).code).toBe(2);
    await scenes.working?.();
    expect(
      (
        await run(
          `approve ID --state STATE --yes --address 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266`,
        )
      ).code,
    ).toBe(2);
    expect(kit.signer.asked.some(({ verb }) => verb === "approve")).toBe(false);
  });

  it("--json prints exactly one line that parses, fine or not", async () => {
    await scenes.working?.();
    const lines = [
      "status",
      "withdrawals",
      "show ID",
      "address eth",
      "address",
      "verify",
      "approve ID --yes",
      "refuse ID --yes",
      "show 0",
      "address btc",
      "nonsense",
    ];
    for (const line of lines) {
      const screen = new Screen();
      const out: string[] = [];
      screen.out = (text) => void out.push(text);
      const { code } = await run(`${line} --state STATE --json`, screen);
      expect(out.join("").split("\n").length, line).toBe(2);
      expect(JSON.parse(out.join("")).ok, line).toBe(code === 0);
    }
  });

  it("status --watch goes on through a signer that is away", async () => {
    await scenes.working?.();
    const screen = new Screen();
    screen.rounds = 3;
    const sleep = screen.sleep.bind(screen);
    screen.sleep = async () => {
      if (screen.rounds === 3) await kit.signer.close();
      if (screen.rounds === 2) await kit.signer.open(join(kit.state, "run", "operator.sock"));
      return sleep();
    };
    const { code, text } = await run("status --watch --state STATE", screen);
    expect(code).toBe(0);
    expect(text.split("everything works").length).toBe(3);
    expect(text).toContain("crypto does not run on");
  });
});
