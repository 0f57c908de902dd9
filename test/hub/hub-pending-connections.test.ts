/**
 * The hub's pending connections, which are those without a hello: silent connections from any
 * address block do not keep an agent off.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { PendingConnections } from "../../gateway/auth/pending-connections.ts";
import { addressBlock } from "../../gateway/auth/rate.ts";
import { pendingLinksMax } from "../../gateway/hub/hub.ts";
import { readAgent } from "../../lab/kit/gateway-database.ts";
import type { LinkAgent } from "../../lab/kit/link-agent.ts";
import { connect, db, eachTestItsHub, hub, keys, start, stop } from "../support/hub-server.ts";
import { until } from "../support/until.ts";

const { perBlock: pendingPerBlock, inAll: pendingInAll } = pendingLinksMax;
const one64 = (index: number): string => `2001:db8:0:1::${index.toString(16)}`;
const own64 = (index: number): string => `2001:db8:1:${index.toString(16)}::1`;

describe("an address block", () => {
  it.each([
    ["2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true],
    ["2001:db8:0:1::1", "2001:db8:0:2::1", false],
    ["203.0.113.1", "203.0.113.1", true],
    ["203.0.113.1", "203.0.113.2", false],
    ["203.0.113.1", "::ffff:203.0.113.1", true],
  ])("holds %s and %s: %s", (address, another, isOne) => {
    expect(addressBlock(address) === addressBlock(another)).toBe(isOne);
  });
});

describe("pending connections", () => {
  const many = (
    pending: PendingConnections<string>,
    block: string,
    count: number,
    name = block,
  ): (string | null)[] =>
    Array.from({ length: count }, (_, index) => pending.enter(`${name} ${index}`, block));

  it("of one block give way only to its own newcomers, the oldest first", () => {
    const pending = new PendingConnections<string>(pendingLinksMax, () => false);
    expect(pending.enter("agent", "elsewhere")).toBeNull();
    const lost = many(pending, "crowd", pendingPerBlock + 3);
    expect(lost.slice(0, pendingPerBlock).every((one) => one === null)).toBe(true);
    expect(lost.slice(pendingPerBlock)).toEqual(["crowd 0", "crowd 1", "crowd 2"]);
  });

  it("of the most crowded block give way when all places are taken, and those of a block with a known agent only if there is no other", () => {
    const pending = new PendingConnections<string>(pendingLinksMax, (block) =>
      block.startsWith("known"),
    );
    many(pending, "known", pendingPerBlock);
    for (let index = 0; index < pendingInAll - pendingPerBlock - 2; index += 1)
      pending.enter(`lone ${index}`, `block ${index}`);
    many(pending, "pair", 2);
    expect(pending.enter("next", "new")).toBe("pair 0");
    expect(pending.enter("after", "newer")).toBe("lone 0");
    const lost = Array.from({ length: 3000 }, (_, index) =>
      pending.enter(`flood ${index}`, `flood ${index}`),
    );
    expect(lost.some((one) => one?.startsWith("known"))).toBe(false);
    expect(lost).not.toContain(null);
  });

  it("become fewer with each client that completed a handshake or went", () => {
    const pending = new PendingConnections<string>(pendingLinksMax, () => false);
    many(pending, "crowd", pendingPerBlock);
    for (const index of [0, 0, 1]) pending.leave(`crowd ${index}`);
    expect(many(pending, "crowd", 3, "later")).toEqual([null, null, "crowd 2"]);
  });

  it("of known blocks give way to each other if all blocks are known", () => {
    const pending = new PendingConnections<string>(pendingLinksMax, () => true);
    for (let index = 0; index < pendingInAll; index += 1)
      pending.enter(`agent ${index}`, `block ${index}`);
    expect(pending.enter("agent", "another block")).toBe("agent 0");
  });

  it("of a block with a known agent are as many as there is room for, and then give way to each other", () => {
    const pending = new PendingConnections<string>(pendingLinksMax, (block) => block === "known");
    expect(pending.enter("lone", "elsewhere")).toBeNull();
    expect(new Set(many(pending, "known", pendingInAll - 1))).toEqual(new Set([null]));
    expect(many(pending, "known", 2, "later")).toEqual(["known 0", "known 1"]);
  });
});

describe("the hub", () => {
  eachTestItsHub();
  /** No link is cut here because it says nothing, however slow the machine is. */
  const patient = { helloMs: 600_000 };
  beforeEach(async () => {
    await stop();
    await start(patient, "first run", ["127.0.0.1"]);
  });

  /** Links that say nothing: all dialled, and all that were let in were challenged. */
  async function silent(count: number, from: (index: number) => string): Promise<LinkAgent[]> {
    const links: LinkAgent[] = [];
    for (let index = 0; index < count; index += 50) {
      const some = Array.from({ length: Math.min(50, count - index) }, (_, at) =>
        connect(keys, from(index + at)),
      );
      await Promise.all(
        some.map((link) => Promise.race([link.next("challenge").catch(() => null), link.closed])),
      );
      links.push(...some);
    }
    return links;
  }
  const isOpen = (link: LinkAgent): boolean => link.socket.readyState === link.socket.OPEN;
  const openOf = (links: readonly LinkAgent[]): number => links.filter(isOpen).length;

  it("lets an agent in past a thousand silent links of one /64, from elsewhere and from that /64 itself", async () => {
    const links = await silent(1_000, one64);
    await until(() => openOf(links) <= pendingPerBlock);
    const elsewhere = connect(keys, "203.0.113.7");
    await elsewhere.handshake();
    expect(hub.online(keys.id)).toBe(true);
    const within = connect(keys, one64(5_000));
    await within.handshake();
    expect((await elsewhere.closed).code).toBe(4000); // replaced, and not for want of a place
    for (const link of links) link.socket.terminate();
  });

  it("keeps the place of an agent it knows while a thousand blocks are silent, also across its own restart", async () => {
    const home = "2001:db8:ffff::1";
    const before = connect(keys, home);
    await before.handshake();
    expect(readAgent(db.store, keys.id).linkBlock).toBe(addressBlock(home));
    await stop();
    await start(patient, "second run", ["127.0.0.1"]);
    const slow = connect(keys, home);
    const unknown = connect(keys, "2001:db8:eeee::1");
    for (const link of [slow, unknown]) await link.next("challenge");
    const links = await silent(pendingInAll + 50, own64);
    await until(() => !isOpen(unknown) && openOf(links) <= pendingInAll - 1); // no handshake came from `unknown`
    expect(isOpen(slow)).toBe(true); // its twin
    const again = connect(keys, home);
    await again.handshake();
    expect(hub.online(keys.id)).toBe(true);
    for (const link of links) link.socket.terminate();
  });
});
