/** The agent's link against a real WebSocket server on loopback: who may greet it, what ends it, what it sends and in which order. */
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { linkAddress } from "../agent/courier/link/address.ts";
import { backoffMs } from "../agent/courier/link/backoff.ts";
import { createLink, type Link, type LinkDown, type LinkOptions } from "../agent/courier/link/link.ts";
import { createReporter } from "../agent/courier/report/report.ts";
import { software } from "../agent/courier/software.ts";
import { readLinkFile, writeLinkFile } from "../agent/link-file.ts";
import { openEnvelope, sealEnvelope } from "../protocol/envelope.ts";
import type { Head } from "../protocol/messages.ts";
import { parseBeat } from "../protocol/payloads.ts";
import { keyPair, type LinkGateway, type LinkGatewayOptions, startLinkGateway } from "./support/link-gateway.ts";
import { until } from "./support/until.ts";

const agent = "ab".repeat(8);
const wallet = "cd".repeat(16);
const nonce = "ef".repeat(32);
const gatewayKey = keyPair();
const linkKey = keyPair();
const quick = { baseMs: 20, capMs: 60, handshakeMs: 400, beatMs: 30, deadMs: 250, settledMs: 100, closeMs: 100 };

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
    self: { agent, wallet, epoch: 3, nonce },
    software,
    clock: () => Date.now(),
    random: () => 0.5,
    head: () => ({ seq: 7, hash: "77".repeat(32) }),
    times: quick,
    onUp: () => ups.push(performance.now()),
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

const beat = (at: number) => ({ agent, head: null, at });
/** A jobs envelope of exactly so many bytes; what is inside is the signer's to read. */
const jobsOf = (bytes: number) => sealEnvelope("jobs", Buffer.alloc(bytes - 66, 0x20), gatewayKey.privateKey);

describe("the handshake", () => {
  it("answers the pinned gateway's challenge with who it is, and is up with the welcome", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    expect(peer.peers[0]?.hello).toMatchObject({ agent, epoch: 3, nonce, software });
    expect(peer.peers[0]?.socket.extensions).toBe("");
    expect(watched.downs).toEqual([]);
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
      [(welcome) => ({ ...welcome, answers: "00".repeat(32) }), "LINK_WELCOME_NONCE"],
      [(welcome) => ({ ...welcome, agent: "00".repeat(8) }), "LINK_WELCOME_AGENT"],
      [(welcome) => ({ ...welcome, wallet: "00".repeat(16) }), "LINK_WELCOME_AGENT"],
      [(welcome) => sealEnvelope("welcome", welcome, other.privateKey), "ENVELOPE_SIGNATURE"],
      [(welcome) => sealEnvelope("welcome", { ...welcome, extra: 1 }, gatewayKey.privateKey), "JSON_SHAPE"],
      [() => jobsOf(200), "ENVELOPE_KIND"],
    ];
    for (const [welcome, code] of cases) {
      const watched = linkTo((await gateway({ ...(welcome === undefined ? {} : { welcome }) })).url);
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
    const watched = linkTo(replaying.url, { self: { agent, wallet, epoch: 3, nonce: "11".repeat(32) } });
    expect(await firstDown(watched)).toBe("LINK_WELCOME_NONCE");
    const sameRun = linkTo(replaying.url);
    await until(() => sameRun.link.isUp);
  });

  it("gives up on a gateway that says nothing", async () => {
    expect(await firstDown(linkTo((await gateway({ challenges: false })).url))).toBe("LINK_HANDSHAKE");
    expect(await firstDown(linkTo((await gateway({ welcome: () => null })).url))).toBe("LINK_HANDSHAKE");
  });

  it("follows no redirect", async () => {
    const target = await gateway();
    const redirecting = createServer((_request, response) => response.writeHead(302, { location: target.url }).end());
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
  it("sends signed beats, and lives on the gateway's", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    for (let i = 1; i <= 8; i++) {
      peer.send("beat", beat(i));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(watched.downs).toEqual([]);
    const frames = peer.peers[0]!.frames;
    expect(frames.length).toBeGreaterThan(5);
    const opened = openEnvelope(frames[0]!, { kind: "beat", publicKey: linkKey.publicKey, bytesMax: 65_536 });
    expect(parseBeat(opened.payload)).toMatchObject({ agent, head: { seq: 7 } });
  });

  it("is dead when the other end goes silent, and is made anew", async () => {
    const peer = await gateway();
    const watched = linkTo(peer.url);
    await until(() => watched.link.isUp);
    peer.peers[0]?.socket.pause();
    expect(await firstDown(watched)).toBe("LINK_DEAD");
    expect(watched.downs[0]?.wasUp).toBe(true);
    await until(() => watched.ups.length === 2);
  });

  it("takes no beat twice, and none of another key", async () => {
    for (const [key, code] of [
      [gatewayKey, "LINK_BEAT"],
      [keyPair(), "ENVELOPE_SIGNATURE"],
    ] as const) {
      const peer = await gateway();
      const watched = linkTo(peer.url);
      await until(() => watched.link.isUp);
      peer.send("beat", beat(5));
      peer.send("beat", beat(5), key);
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

  it("tries for ever, and says why", async () => {
    const first = await gateway();
    const { port } = first;
    await first.close();
    const watched = linkTo(first.url);
    await until(() => watched.downs.length >= 5);
    expect(watched.downs.every(({ code, detail }) => code === "LINK_SOCKET" && detail === "ECONNREFUSED")).toBe(true);
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
    const watched = linkTo(peer.url, { times: { ...quick, baseMs: 8, capMs: 100_000, settledMs: 100_000 } });
    for (let i = 1; i <= 4; i++) {
      await until(() => watched.ups.length === i);
      peer.peers.at(-1)?.socket.terminate();
    }
    await until(() => watched.downs.length === 4);
    expect(watched.downs.map((down) => down.retryMs)).toEqual([4, 8, 16, 32]);
  });
});

describe("the link's address", () => {
  it("is TLS off loopback", () => {
    expect(linkAddress("https://pay.example.com")).toBe("wss://pay.example.com/agent/v1/link");
    expect(() => linkAddress("http://pay.example.com")).toThrow(expect.objectContaining({ code: "LINK_PLAINTEXT" }));
    expect(() => linkAddress("http://127.0.0.1.example.com")).toThrow(expect.objectContaining({ code: "LINK_PLAINTEXT" }));
    expect(() => linkAddress("http://10.0.0.1")).toThrow(expect.objectContaining({ code: "LINK_PLAINTEXT" }));
  });

  it("may be plain on loopback", () => {
    expect(linkAddress("http://127.0.0.1:8080")).toBe("ws://127.0.0.1:8080/agent/v1/link");
    expect(linkAddress("http://localhost")).toBe("ws://localhost/agent/v1/link");
    expect(linkAddress("http://[::1]:1")).toBe("ws://[::1]:1/agent/v1/link");
  });

  it("is nothing but an origin", () => {
    for (const url of ["ftp://pay.example.com", "https://user:word@pay.example.com", "https://pay.example.com/?a=1", "pay"]) {
      expect(() => linkAddress(url)).toThrow(expect.objectContaining({ code: "LINK_ADDRESS" }));
    }
  });
});

describe("reports", () => {
  const signerKey = keyPair();
  const hashOf = (seq: number) => seq.toString(16).padStart(64, "0");
  const statement = (after: number, seq: number) => {
    const entry = { kind: "alarm", seq, at: 1, code: "TEST", locked: false };
    const payload = { agent, epoch: 3, after, head: { seq, hash: hashOf(seq) }, at: 1, entries: [entry] };
    return Buffer.from(sealEnvelope("statement", payload, signerKey.privateKey)).toString("base64");
  };

  /** A signer whose ledger ends at `last`, and a link that notes what it is given. */
  function setUp(last = 0) {
    const sent: string[] = [];
    const asked: number[] = [];
    const heads: Head[] = [];
    const drops: string[] = [];
    const signer = { last, hold: null as (() => void) | null, holds: false };
    const link = {
      bufferedBytes: 0,
      send(frame: Uint8Array, flushed?: () => void) {
        const payload = JSON.parse(Buffer.from(frame).subarray(66).toString("utf8")) as { after: number; head: Head };
        sent.push(`${payload.after}-${payload.head.seq}`);
        if (flushed !== undefined) setImmediate(flushed);
        return true;
      },
      drop: (code: string) => drops.push(code),
    };
    const reporter = createReporter({
      link,
      async report(after) {
        asked.push(after);
        const frames: string[] = [];
        for (let seq = after + 1; seq <= signer.last && frames.length < 3; seq++) frames.push(statement(seq - 1, seq));
        if (signer.holds) await new Promise<void>((resolve) => (signer.hold = resolve));
        return frames;
      },
      onStatement: (head) => heads.push(head),
    });
    return { sent, asked, heads, drops, signer, link, reporter };
  }
  const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

  it("sends everything after the acknowledged head, then what comes, in order and once", async () => {
    const { reporter, sent, asked, signer } = setUp(8);
    reporter.resume(3);
    await settle();
    expect(sent).toEqual(["3-4", "4-5", "5-6", "6-7", "7-8"]);
    expect(asked).toEqual([3, 6, 8]);
    signer.last = 9;
    reporter.push(statement(8, 9));
    reporter.push(statement(8, 9));
    expect(sent.at(-1)).toBe("8-9");
    expect(sent).toHaveLength(6);
  });

  it("keeps what is pushed meanwhile behind what is fetched, and drops what the answer held already", async () => {
    const { reporter, sent, signer } = setUp(2);
    signer.holds = true;
    reporter.resume(0);
    await settle();
    reporter.push(statement(1, 2));
    reporter.push(statement(2, 3));
    expect(sent).toEqual([]);
    signer.last = 3;
    signer.holds = false;
    signer.hold?.();
    await settle();
    expect(sent).toEqual(["0-1", "1-2", "2-3"]);
  });

  it("fetches what is missing before it sends what comes after a gap", async () => {
    const { reporter, sent, signer } = setUp(0);
    reporter.resume(0);
    await settle();
    signer.last = 3;
    reporter.push(statement(2, 3));
    await settle();
    expect(sent).toEqual(["0-1", "1-2", "2-3"]);
  });

  it("sends nothing without a link, and begins anew with the next", async () => {
    const { reporter, sent, signer } = setUp(1);
    reporter.push(statement(0, 1));
    reporter.resume(0);
    await settle();
    reporter.pause();
    signer.last = 2;
    reporter.push(statement(1, 2));
    expect(sent).toEqual(["0-1"]);
    reporter.resume(0);
    await settle();
    expect(sent).toEqual(["0-1", "0-1", "1-2"]);
  });

  it("waits for the kernel when much is waiting there", async () => {
    const { reporter, sent, link } = setUp(3);
    link.bufferedBytes = 10 ** 6;
    reporter.resume(0);
    await settle();
    expect(sent).toEqual(["0-1", "1-2", "2-3"]);
  });

  it("drops the link when the signer gives no statements", async () => {
    const drops: string[] = [];
    const reporter = createReporter({
      link: { bufferedBytes: 0, send: () => true, drop: (code) => drops.push(code) },
      report: () => Promise.reject(new Error("gone")),
      onStatement: () => undefined,
    });
    reporter.resume(0);
    await settle();
    expect(drops).toEqual(["LINK_RESUME"]);
  });
});

describe("link.json", () => {
  const folder = () => {
    const made = mkdtempSync(join(tmpdir(), "link-"));
    cleanups.push(() => rmSync(made, { recursive: true }));
    return join(made, "courier");
  };
  const identity = () => ({
    agent,
    epoch: 3,
    gatewayKey: gatewayKey.hex,
    linkSeed: linkKey.seed,
    gatewayUrl: "https://pay.example.com",
  });

  it("reads back what was written, for its owner alone", () => {
    const place = folder();
    writeLinkFile(place, identity());
    writeLinkFile(place, { ...identity(), epoch: 4 });
    expect(readLinkFile(place)).toEqual({ ...identity(), epoch: 4 });
    expect(statSync(join(place, "link.json")).mode & 0o777).toBe(0o600);
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(join(place, "link.json"), "utf8"))).toMatchObject({
      linkSeed: Buffer.from(linkKey.seed).toString("hex"),
    });
  });

  it("is written through nothing that was planted in its temporary file's place", () => {
    const place = folder();
    mkdirSync(place);
    const planted = join(place, "link.json.new");
    const elsewhere = join(place, "elsewhere");
    writeFileSync(elsewhere, "theirs");
    for (const plant of [() => writeFileSync(planted, "", { mode: 0o666 }), () => symlinkSync(elsewhere, planted)]) {
      plant();
      writeLinkFile(place, identity());
      expect(lstatSync(join(place, "link.json")).mode & 0o777).toBe(0o600);
      expect(lstatSync(join(place, "link.json")).isFile()).toBe(true);
      expect(readFileSync(elsewhere, "utf8")).toBe("theirs");
      expect(readLinkFile(place)).toEqual(identity());
    }
  });

  it("refuses what others can read, what is missing, and what is damaged", () => {
    const place = folder();
    const path = join(place, "link.json");
    expect(() => readLinkFile(place)).toThrow(expect.objectContaining({ code: "LINK_FILE_MISSING" }));
    writeLinkFile(place, identity());
    const whole = readFileSync(path, "utf8");
    chmodSync(path, 0o640);
    expect(() => readLinkFile(place)).toThrow(expect.objectContaining({ code: "LINK_FILE_OPEN" }));
    chmodSync(path, 0o600);
    for (const damaged of [
      "",
      "{}",
      whole.replace("linkSeed", "seed"),
      whole.replace(/"epoch":3/, '"epoch":"3"'),
      whole.slice(0, 90),
    ]) {
      writeFileSync(path, damaged);
      expect(() => readLinkFile(place)).toThrow(expect.objectContaining({ code: "LINK_FILE_INVALID" }));
    }
    writeFileSync(path, whole);
    expect(readLinkFile(place).agent).toBe(agent);
  });
});

it("names itself with the package's version", () => {
  const { name, version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as Record<
    string,
    string
  >;
  expect(software).toBe(`${name}/${version}`);
});
