/**
 * The agent's link against a real WebSocket server on loopback: the gateways that may complete a
 * handshake with it, the events that end it, and the time of the next try.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { linkAddress } from "../../agent/courier/link/address.ts";
import {
  backoffMs,
  createLink,
  type Link,
  type LinkDown,
  type LinkOptions,
} from "../../agent/courier/link/link.ts";
import { softwareName } from "../../agent/courier/software.ts";
import { openEnvelope, sealEnvelope } from "../../protocol/envelope.ts";
import { parseHeartbeat } from "../../protocol/payloads.ts";
import {
  keyPair,
  type LinkGateway,
  type LinkGatewayOptions,
  startLinkGateway,
} from "../support/link-gateway.ts";
import { until } from "../support/until.ts";

const agent = "ab".repeat(8);
const wallet = "cd".repeat(16);
const nonce = "ef".repeat(32);
const open = [{ network: "eip155:31337", account: `0x${"11".repeat(20)}`, first: "5", last: "9" }];
const gatewayKey = keyPair();
const linkKey = keyPair();
const quick = {
  baseMs: 20,
  capMs: 60,
  handshakeMs: 400,
  heartbeatMs: 30,
  deadMs: 250,
  settledMs: 100,
  closeMs: 100,
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function gateway(change: Partial<LinkGatewayOptions> = {}): Promise<LinkGateway> {
  const started = await startLinkGateway({ key: gatewayKey, linkKey, agent, wallet, ...change });
  cleanups.push(() => started.close());
  return started;
}

interface Watched {
  readonly link: Link;
  readonly ups: number[];
  readonly downs: LinkDown[];
  readonly frames: { readonly envelope: string; readonly bytes: number }[];
}

function linkTo(url: string, change: Partial<LinkOptions> = {}): Watched {
  const ups: number[] = [];
  const downs: LinkDown[] = [];
  const frames: { envelope: string; bytes: number }[] = [];
  const link = createLink({
    address: linkAddress(url),
    gatewayKey: gatewayKey.publicKey,
    linkKey: linkKey.privateKey,
    self: { agent, wallet, ledgerEpoch: 3, nonce },
    software: softwareName,
    clock: () => Date.now(),
    random: () => 0.5,
    head: () => ({ seq: 7, hash: "77".repeat(32) }),
    open: () => open,
    times: quick,
    onUp: () => ups.push(performance.now()),
    onRecovery: () => undefined,
    onFrame: (envelope, frame) => frames.push({ envelope, bytes: frame.length }),
    onDown: (down) => downs.push(down),
    ...change,
  });
  cleanups.push(() => link.close());
  return { link, ups, downs, frames };
}

async function firstDown(watched: Watched): Promise<string> {
  await until(() => watched.downs.length > 0);
  return watched.downs[0]?.code ?? "";
}

const heartbeat = (at: number) => ({ agent, head: null, at });
/** A jobs envelope of exactly so many bytes; what is inside is the signer's to read. */
const jobsOf = (bytes: number) =>
  sealEnvelope("jobs", Buffer.alloc(bytes - 66, 0x20), gatewayKey.privateKey);

describe("the handshake", () => {
  it("answers the pinned gateway's challenge with who it is, and is up with the welcome", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    expect(peer.peers[0]?.hello).toMatchObject({
      agent,
      ledgerEpoch: 3,
      nonce,
      software: softwareName,
      open,
    });
    expect(peer.peers[0]?.socket.extensions).toBe("");
    expect(watched.downs).toEqual([]);
  });

  it("says no hello to a gateway of an earlier program, and names the server and the line to type there", async () => {
    const peer = await gateway({ isOld: true });
    const watched = linkTo(peer.url);
    expect(await firstDown(watched)).toBe("LINK_UPGRADE_REQUIRED");
    expect(watched.downs[0]?.detail).toContain("node autowithdraw.js upgrade --gateway");
    expect(peer.peers[0]?.hello).toBeNull();
    const twin = await gateway();
    const up = linkTo(twin.url);
    await until(() => up.link.isUp);
    expect(twin.peers[0]?.hello).toMatchObject({ kinds: 13 });
  });

  it("tells of a gateway that wants a newer program, in that gateway's words", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    peer.peers[0]?.socket.close(4010, "upgrade_required: type this line");
    expect(await firstDown(watched)).toBe("LINK_UPGRADE_REQUIRED");
    expect(watched.downs[0]?.detail).toContain("type this line");
  });

  it("tells an impostor nothing", async () => {
    const peer = await gateway({ challengeKey: keyPair() });
    const watched = linkTo(peer.url);
    expect(await firstDown(watched)).toBe("ENVELOPE_SIGNATURE");
    expect(peer.peers[0]?.hello).toBeNull();
    expect(watched.ups).toEqual([]);
  });

  it("takes no welcome for another run, agent or wallet, nor one of another key", async () => {
    const other = keyPair();
    const cases: readonly (readonly [LinkGatewayOptions["welcome"], string])[] = [
      [(welcome) => ({ ...welcome, answers: "00".repeat(32) }), "LINK_WELCOME_CHALLENGE"],
      [(welcome) => ({ ...welcome, agent: "00".repeat(8) }), "LINK_WELCOME_AGENT"],
      [(welcome) => ({ ...welcome, wallet: "00".repeat(16) }), "LINK_WELCOME_AGENT"],
      [(welcome) => sealEnvelope("welcome", welcome, other.privateKey), "ENVELOPE_SIGNATURE"],
      [
        (welcome) => sealEnvelope("welcome", { ...welcome, extra: 1 }, gatewayKey.privateKey),
        "JSON_SHAPE",
      ],
      [() => jobsOf(200), "ENVELOPE_KIND"],
    ];
    for (const [welcome, code] of cases) {
      const watched = linkTo(
        (await gateway({ ...(welcome === undefined ? {} : { welcome }) })).url,
      );
      expect(await firstDown(watched)).toBe(code);
      expect(watched.ups).toEqual([]);
      watched.link.close();
    }
  });

  it("takes no welcome recorded from a run before", async () => {
    const first = await gateway();
    const before = linkTo(first.url);
    await until(() => before.link.isUp);
    const recorded = first.welcomes[0]!;
    const replaying = await gateway({ welcome: () => recorded });
    const watched = linkTo(replaying.url, {
      self: { agent, wallet, ledgerEpoch: 3, nonce: "11".repeat(32) },
    });
    expect(await firstDown(watched)).toBe("LINK_WELCOME_CHALLENGE");
    const sameRun = linkTo(replaying.url);
    await until(() => sameRun.link.isUp);
  });

  it("gives up on a gateway that says nothing", async () => {
    expect(await firstDown(linkTo((await gateway({ challenges: false })).url))).toBe(
      "LINK_HANDSHAKE",
    );
    expect(await firstDown(linkTo((await gateway({ welcome: () => null })).url))).toBe(
      "LINK_HANDSHAKE",
    );
  });

  it("follows no redirect", async () => {
    const target = await gateway();
    const redirecting = createServer((_request, response) =>
      response.writeHead(302, { location: target.url }).end(),
    );
    redirecting.on("upgrade", (_request, socket) =>
      socket.end(`HTTP/1.1 302 Found\r\nLocation: ${target.url}/agent/v1/link\r\n\r\n`),
    );
    await new Promise<void>((resolve) => redirecting.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => redirecting.close());
    const watched = linkTo(`http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`);
    expect(await firstDown(watched)).toBe("LINK_SOCKET");
    expect(target.peers).toEqual([]);
  });
});

describe("an open link", () => {
  it("sends signed heartbeats, and lives on the gateway's", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    for (let i = 1; i <= 8; i++) {
      peer.send("heartbeat", heartbeat(i));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(watched.downs).toEqual([]);
    const frames = peer.peers[0]!.frames;
    expect(frames.length).toBeGreaterThan(5);
    const opened = openEnvelope(frames[0]!, {
      kind: "heartbeat",
      publicKey: linkKey.publicKey,
      bytesMax: 65_536,
    });
    expect(parseHeartbeat(opened.payload)).toMatchObject({ agent, head: { seq: 7 } });
  });

  it("ends by its timeout when the other end is silent, and is made again", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    peer.peers[0]?.socket.pause();
    expect(await firstDown(watched)).toBe("LINK_TIMEOUT");
    expect(watched.downs[0]?.wasUp).toBe(true);
    await until(() => watched.ups.length === 2);
  });

  it("takes no heartbeat twice, and none of another key", async () => {
    for (const [key, code] of [
      [gatewayKey, "LINK_HEARTBEAT"],
      [keyPair(), "ENVELOPE_SIGNATURE"],
    ] as const) {
      const peer = await gateway();
      const watched = linkTo(peer.url);
      await until(() => watched.link.isUp);
      peer.send("heartbeat", heartbeat(5));
      peer.send("heartbeat", heartbeat(5), key);
      expect(await firstDown(watched)).toBe(code);
      watched.link.close();
    }
  });

  it("takes a frame of 64 KiB and none above", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    peer.peers[0]?.socket.send(jobsOf(65_536));
    await until(() => watched.frames.length === 1);
    expect(watched.frames[0]).toEqual({ envelope: "jobs", bytes: 65_536 });
    peer.peers[0]?.socket.send(jobsOf(65_537));
    expect(await firstDown(watched)).toBe("LINK_SOCKET");
    expect(watched.frames).toHaveLength(1);
  });

  it("takes sixteen fragments and none above", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    const inParts = (parts: number): void => {
      const frame = jobsOf(66 + parts * 10);
      for (let i = 0; i < parts; i++) {
        const from = i === 0 ? 0 : 66 + i * 10;
        peer.peers[0]?.socket.send(frame.subarray(from, 66 + (i + 1) * 10), {
          binary: true,
          fin: i === parts - 1,
          compress: false,
        });
      }
    };
    inParts(16);
    await until(() => watched.frames.length === 1);
    inParts(17);
    expect(await firstDown(watched)).toBe("LINK_SOCKET");
  });

  it("ends over text, over noise, and over a frame that has no place", async () => {
    const frames: readonly (readonly [string | Uint8Array, string])[] = [
      ["hello", "LINK_FRAME"],
      [Buffer.alloc(100), "LINK_FRAME"],
      [sealEnvelope("challenge", { nonce, at: 1 }, gatewayKey.privateKey), "LINK_FRAME"],
    ];
    for (const [frame, code] of frames) {
      const peer = await gateway();
      const watched = linkTo(peer.url);
      await until(() => watched.link.isUp);
      peer.peers[0]?.socket.send(frame);
      expect(await firstDown(watched)).toBe(code);
      watched.link.close();
    }
  });

  it("is closed when a megabyte waits unread", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url, { times: { ...quick, deadMs: 5000 } });
    await until(() => watched.link.isUp);
    peer.peers[0]?.socket.pause();
    for (let i = 0; i < 200 && watched.downs.length === 0; i++) {
      watched.link.send(Buffer.alloc(60_000));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(watched.downs[0]?.code).toBe("LINK_BACKLOG");
  });

  it("tries permanently, and says why", async () => {
    const first = await gateway();
    const { port } = first;
    await first.close();
    const watched = linkTo(first.url);
    await until(() => watched.downs.length >= 5);
    expect(
      watched.downs.every(
        ({ code, detail }) =>
          code === "LINK_SOCKET" && detail === "ECONNREFUSED: nothing listens at this address",
      ),
    ).toBe(true);
    await gateway({ port });
    await until(() => watched.link.isUp);
  });
});

describe("the wait between tries", () => {
  it("is anything from nothing to a ceiling that doubles up to thirty seconds", () => {
    const limits = { baseMs: 500, capMs: 30_000 };
    expect([0, 1, 2, 5, 6, 100].map((attempt) => backoffMs(attempt, 0.999_999, limits))).toEqual([
      499, 999, 1999, 15_999, 29_999, 29_999,
    ]);
    expect(backoffMs(50, 0, limits)).toBe(0);
    expect(backoffMs(50, 0.5, limits)).toBe(15_000);
  });

  it("starts again from the bottom only after a link that lasted", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url, {
      times: { ...quick, baseMs: 8, capMs: 100_000, settledMs: 100_000 },
    });
    for (let i = 1; i <= 4; i++) {
      await until(() => watched.ups.length === i);
      peer.peers.at(-1)?.socket.terminate();
    }
    await until(() => watched.downs.length === 4);
    expect(watched.downs.map((down) => down.retryMs)).toEqual([4, 8, 16, 32]);
  });
});

describe("a recovery offered instead of a welcome", () => {
  it("is handed on part by part, and is why the link is down", async () => {
    const peer = await gateway({ welcome: () => null });
    const parts: Uint8Array[] = [];
    const watched = linkTo(peer.url, { onRecovery: (frame) => parts.push(frame) });
    await until(() => peer.peers[0]?.hello !== undefined && peer.peers[0]?.hello !== null);
    for (const part of [1, 2]) peer.send("recovery", { part });
    await until(() => parts.length === 2);
    expect(parts.map((frame) => frame[1])).toEqual([8, 8]);
    expect(watched.link.isUp).toBe(false);
    expect(await firstDown(watched)).toBe("RECOVERY_OFFERED");
  });

  it("is no frame of a link that is up", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    peer.send("recovery", { part: 1 });
    expect(await firstDown(watched)).toBe("LINK_FRAME");
  });
});

describe("the link's address", () => {
  it("is TLS off loopback", () => {
    expect(linkAddress("https://pay.example.com")).toBe(
      "wss://pay.example.com/agent/v1/link?kinds=13",
    );
    expect(() => linkAddress("http://pay.example.com")).toThrow(
      expect.objectContaining({ code: "LINK_PLAINTEXT" }),
    );
    expect(() => linkAddress("http://127.0.0.1.example.com")).toThrow(
      expect.objectContaining({ code: "LINK_PLAINTEXT" }),
    );
    expect(() => linkAddress("http://10.0.0.1")).toThrow(
      expect.objectContaining({ code: "LINK_PLAINTEXT" }),
    );
  });

  it("may be plain on loopback", () => {
    expect(linkAddress("http://127.0.0.1:8080")).toBe("ws://127.0.0.1:8080/agent/v1/link?kinds=13");
    expect(linkAddress("http://localhost")).toBe("ws://localhost/agent/v1/link?kinds=13");
    expect(linkAddress("http://[::1]:1")).toBe("ws://[::1]:1/agent/v1/link?kinds=13");
  });

  it("is only an origin", () => {
    for (const url of [
      "ftp://pay.example.com",
      "https://user:word@pay.example.com",
      "https://pay.example.com/?a=1",
      "pay",
    ]) {
      expect(() => linkAddress(url)).toThrow(expect.objectContaining({ code: "LINK_ADDRESS" }));
    }
  });
});
