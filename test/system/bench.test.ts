/**
 * The bench: the names of its figures, which stay from one release to the next, its sums, and a run
 * of few jobs of each part. No figure of a measurement is looked at but for its being there.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { measureActs } from "../../lab/bench/acts.ts";
import type { AgentRound, Round } from "../../lab/bench/agent.ts";
import { countCalls, requestMark } from "../../lab/bench/calls.ts";
import { cardNames, cardOf, describeCard, markdownOf } from "../../lab/bench/card.ts";
import type { UserRound } from "../../lab/bench/card-rows.ts";
import type { Ceilings } from "../../lab/bench/ceilings.ts";
import { median, percentile, steadyRate } from "../../lab/bench/figures.ts";
import { measureGatewayActs } from "../../lab/bench/gateway-acts.ts";
import { describeGrowth, measureGrowth } from "../../lab/bench/growth.ts";
import { networkNames, newReceiver } from "../../lab/bench/networks.ts";
import { measurePath } from "../../lab/bench/path.ts";
import { describeAgent, reportOf } from "../../lab/bench/report.ts";
import { tableOf } from "../../lab/bench/resources.ts";
import { shortLoads } from "../../lab/bench/rounds.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import { startsTheBuild } from "../support/built.ts";

startsTheBuild();

const dir = mkdtempSync(join(tmpdir(), "bench-test-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ran = {
  inFlight: 1,
  jobs: 10,
  durableMsMedian: 4,
  releasedMsMedian: 6,
  jobsPerFrame: 20,
  jobsPerStatement: 8,
};
const ceilings: Ceilings = {
  ...{ secpSignUs: 100, secpRecoverUs: 200, ed25519VerifyUs: 100, ed25519SignUs: 40, syncUs: 500 },
  ...{ durableFloorMs: 1.7, signaturesPerSecond: 10_000, syncsPerSecond: 2_000 },
};
const plain: Round = {
  ...{ one: { ...ran, jobsPerSecond: 50 }, many: { ...ran, jobsPerSecond: 250 }, readyMs: 400 },
  ...{ idleMiB: { process: 100 }, cpuUs: { process: 4_000, world: 200 } },
};

/** A round whose agent alone is as fast as told, beside a whole path as fast as told. */
function userRound(agentRate: number, pathRate: number): UserRound {
  const agent: AgentRound = {
    one: { ...ran, jobsPerSecond: 200 },
    many: { ...ran, jobsPerSecond: agentRate },
    few: { ...ran, jobsPerSecond: 500 },
    readyMs: 600,
    idleMiB: { launcher: 60, signer: 70, courier: 80, signerShared: 50, courierShared: 50 },
    cpuUs: { signer: 800, courier: 300, launcher: 1, world: 200 },
    cpuUsFew: { signer: 1_000, courier: 400, launcher: 1, world: 200 },
    durableInsideMs: 3,
    syncs: { meanMs: 0.3, inLine: 2, jobsPerSyncMany: 20 },
    starts: {
      agent: { readyMs: 600, readyCpuUs: 500_000 },
      node: { readyMs: 60, readyCpuUs: 50_000 },
    },
  };
  const load = {
    ...{
      completedPerSecond: pathRate,
      signerCpuUs: 1_600,
      courierCpuUs: 900,
      gatewayCpuUs: 2_000,
      nodeCalls: 6,
      nodeKiB: 4,
    },
    ...{ statements: 40, statementsOutside: 6, commits: 0.2 },
  };
  const other = { ...load, completedPerSecond: pathRate / 4, nodeKiB: 10 };
  return {
    ...{ agent, ceilings, plain, acts: { acts: { sign: 100, recover: 200 }, sumUs: 400 } },
    gatewayActs: { acts: { token: 100, http: 100 }, sumUs: 500, statements: 20 },
    growth: { few: { questions: 4, cpuMs: 20 }, many: { questions: 5, cpuMs: 50 } },
    path: {
      networks: { evm: load, tron: other, xrp: other, bitcoin: other, litecoin: other },
      alone: { postToNodeMs: [10, 30, 20, 40], postToCompletedMs: [700, 800, 900] },
      ...{ nodeCallsAlone: 9, nodeCallsIdlePerSecond: 2 },
      deposits: {
        ...{ requestsPerSecond: 30, requestCpuUs: 5_000, pageCpuUs: 1_000, depositCpuUs: 9_000 },
        requestToCompletedMs: [1_100, 1_300, 1_200],
      },
    },
  };
}

const onNetworks = ["tron", "xrp", "bitcoin", "litecoin"].flatMap((name) =>
  [
    "CompletedPerSecond64",
    "SignerCpuUs64",
    "CourierCpuUs64",
    "GatewayCpuUs64",
    "NodeCalls64",
    "NodeKiB64",
  ].map((figure) => `${name}${figure}`),
);
const names = [
  ...[
    "evmCompletedPerSecond64",
    "evmAgentCpuUs64",
    "evmSignerCpuUs64",
    "evmCourierCpuUs64",
    "evmGatewayCpuUs64",
  ],
  ...["gatewayActsUs", "evmBothCpuUs64", "gatewayStatements64", "gatewayStatementsOutside64"],
  ...["nodeCallsPerPayout64", "nodeKiBPerPayout64"],
  ...onNetworks,
  ...["postToNodeMsP50", "postToNodeMsP90", "postToCompletedMsP50"],
  ...["nodeCallsPerPayout1", "nodeCallsIdleDay"],
  ...[
    "depositAddressesPerSecond16",
    "depositRequestCpuUs16",
    "depositCpuUs16",
    "depositMsP50",
    "pageCpuUs16",
  ],
  ...["idleQuestions2000", "idleCpuMs2000"],
  ...[
    "agentCpuUs256",
    "signerCpuUs16",
    "signerCpuUs256",
    "necessaryActsUs",
    "durableMs1",
    "ownSyncMs1",
    "syncsInLine1",
  ],
  ...["idleAllMiB", "readyMs", "readyCpuMs"],
];

it("the figures of an idle day and of 1,000 orders are those rows of docs/operations.md", () => {
  const both = { gateway: 1_000, agent: 20 };
  const day = { diskKiB: both, memoryMiB: both, questions: both };
  const table = tableOf({ idleMinutes: 10, idleDay: day, orders: 1_000, afterOrders: day });
  const names = (text: string) => text.split("\n").map((line) => line.split("|")[1]?.trim());
  expect(table).toContain("| disk, KiB more, gateway | 1,000 | 1,000 |");
  const page = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");
  const [, told = ""] = /^(\| \| an idle day \|.*(?:\n\|.*)*)/m.exec(page) ?? [];
  expect(names(told)).toEqual(names(table));
  expect(told).not.toMatch(/\| 0 \| 0 \|/);
});

it("the card keeps its names", () => {
  expect(cardNames).toEqual(names);
  expect(Object.keys(cardOf([userRound(1_000, 250)]))).toEqual(names);
});

it("a figure is the median over the rounds, its ratio the median of each round's own", () => {
  const card = cardOf([userRound(1_000, 100), userRound(200, 200), userRound(2_000, 300)]);
  // 0.1, 1 and 0.15: the ratio of the medians would be 0.2
  expect(card.evmCompletedPerSecond64).toEqual({
    value: 200,
    unit: "/s",
    ratio: 0.15,
    to: "the agent alone, 256 in flight",
  });
  expect(card.tronCompletedPerSecond64).toMatchObject({ value: 50, ratio: 0.25 });
  expect(card.litecoinNodeKiB64).toEqual({
    value: 10,
    unit: "KiB",
    ratio: 2.5,
    to: "the same on EVM",
  });
  expect(card.evmAgentCpuUs64).toMatchObject({ value: 2_500, ratio: 2.27 });
  expect(card.evmGatewayCpuUs64).toMatchObject({ value: 2_000, ratio: 4 });
  expect(card.evmBothCpuUs64).toMatchObject({ value: 4_500, ratio: 1.8 });
  expect(card.gatewayStatements64).toMatchObject({ value: 40, ratio: 2 });
  expect(card.depositRequestCpuUs16).toMatchObject({ value: 5_000, ratio: 2.5 });
  expect(card.pageCpuUs16).toMatchObject({ value: 1_000, ratio: 0.5 });
  expect(card.idleQuestions2000).toMatchObject({ value: 5, ratio: 1.25 });
  expect(card.idleCpuMs2000).toMatchObject({ value: 50, ratio: 2.5 });
  expect(card.agentCpuUs256).toMatchObject({ value: 1_100, ratio: 0.28 });
  expect(card.postToNodeMsP90).toMatchObject({ value: 40, ratio: 2 });
  expect(card.nodeCallsIdleDay?.value).toBe(172_800);
  expect(card.signerCpuUs16).toMatchObject({ value: 1_000, ratio: 1.25 });
  expect(card.signerCpuUs256).toMatchObject({ value: 800, ratio: 2 });
  expect(card.durableMs1).toMatchObject({ value: 3, ratio: 3 }); // 0.1 + 0.1 + 0.2 + 2 × 0.3
  expect(card.idleAllMiB).toMatchObject({ value: 210, ratio: 2.1 });
  expect(card.readyCpuMs).toMatchObject({ value: 500, ratio: 10 });
});

it("figures of parts that the run did not measure are left out: ratios to the plain build, idle gateways", () => {
  const { plain: _plain, growth: _growth, ...without } = userRound(1_000, 250);
  const card = cardOf([without]);
  expect(card.idleAllMiB).toEqual({ value: 210, unit: "MiB" });
  expect(Object.keys(card)).toEqual(
    names.filter((name) => name !== "idleQuestions2000" && name !== "idleCpuMs2000"),
  );
});

it("the steady part is a load without its beginning and its end, and blocks count whole", () => {
  // 100 a second for ten seconds, then a straggler that no rate shows.
  const even = Array.from({ length: 1_000 }, (_, at) => 10 * at);
  expect(steadyRate([...even.slice(1), 60_000])).toBeCloseTo(100);
  // 50 in each of ten blocks of a second.
  expect(steadyRate(Array.from({ length: 500 }, (_, at) => 1_000 * Math.floor(at / 50)))).toBe(50);
  expect([steadyRate([7, 7, 7]), steadyRate([])]).toEqual([0, 0]);
});

it("the table in docs/performance.md has each figure of the card, in its order and form", () => {
  const page = readFileSync(join(projectRoot, "docs", "performance.md"), "utf8");
  const table = page.split("<!-- card -->\n")[1]?.split("\n<!-- /card -->")[0] ?? "";
  const figuresOf = (text: string): string[] =>
    text.split("\n").map((line) => line.split("|")[1]?.trim() ?? "");
  const card = cardOf([userRound(1_000, 250)]);
  expect(figuresOf(table)).toEqual(figuresOf(markdownOf(card)));
  for (const line of describeCard(card).split("\n"))
    expect(line).toMatch(/^\S.* {2,}[\d,.]+\S* ?\w*( {3}[\d.]+ times \S.*)?$/);
});

it("the figures beside a plain build keep their names", () => {
  const { agent } = userRound(1_000, 250);
  const report = reportOf({ ours: [agent], plain: [plain], tuned: [plain], ceilings: [ceilings] });
  expect(Object.keys(report)).toEqual([
    "node",
    "cores",
    "cpu",
    "agent",
    "plain",
    "plainTuned",
    "ceilings",
    "ratios",
    "idleMiB",
  ]);
  const figures = [
    "jobsPerSecond1",
    "jobsPerSecond256",
    "cpuUsPerJob256",
    "durableMs1",
    "durableSeenMs1",
    "releasedMs1",
  ];
  expect(Object.keys(report.agent)).toEqual([...figures, "readyMs", "idleMiB"]);
  expect(report.ratios).toEqual({
    ...{
      jobsPerSecond256: 4,
      jobsPerSecond256Tuned: 4,
      jobsPerSecond1: 4,
      cpuPerJob256: 0.28,
      cpuPerJob256Tuned: 0.28,
    },
    ...{ durableToFloor: 1.76, signatureCeilingShare: 0.1 },
  });
  expect([report.idleMiB, report.agent.durableMs1, report.plain.durableMs1]).toEqual([150, 3, 4]);
  expect(describeAgent(report)).toContain("4 times plain, 4 times tuned");
});

it("a median of an even number is the mean of the middle two, a percentile a value of the list", () => {
  expect([median([4, 1, 3, 2]), median([3, 1, 2]), median([])]).toEqual([2.5, 2, 0]);
  expect([
    percentile([4, 1, 3, 2], 0.5),
    percentile([4, 1, 3, 2], 0.9),
    percentile([], 0.9),
  ]).toEqual([2, 4, 0]);
});

it("the hot loop plays each act, and tells their sum", () => {
  const asked = {
    payoutsPerFrame: 4,
    payoutsPerWrite: 4,
    payoutsPerStatement: 4,
    times: 20,
    file: join(dir, "acts"),
  };
  const { acts, sumUs } = measureActs(asked);
  expect(Object.keys(acts)).toEqual([
    ...[
      "verifyFrame",
      "parseFrame",
      "parseJob",
      "hashJob",
      "policy",
      "buildAndRead",
      "keccakUnsigned",
      "sign",
      "recover",
    ],
    ...[
      "attach",
      "keccakRaw",
      "recordsJson",
      "recordsHash",
      "box",
      "mac",
      "writeAndSync",
      "statement",
      "verifyAck",
      "lines",
    ],
  ]);
  const sum = Object.values(acts).reduce((all, us) => all + us, 0);
  expect(Math.abs(sum - sumUs)).toBeLessThan(1);
});

it("calls that pass to a node are counted one by one, also in a batch and in a piece that ends within a call", async () => {
  const server = createServer(
    (request, response) => void request.resume().on("end", () => response.end("{}")),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const node = await countCalls(target);
  const byRequest = await countCalls(`${target}/api`, requestMark);
  const call = (text: string): string => `{"jsonrpc":"2.0","id":1,"method":"${text}","params":[]}`;
  try {
    await (await fetch(node.url, { method: "POST", body: call("eth_chainId") })).text();
    await (
      await fetch(node.url, { method: "POST", body: `[${call("a")},${call("b")},${call("c")}]` })
    ).text();
    expect(node.calls()).toBe(4);
    const passed = node.passed("5afe5afe");
    const body = call("eth_sendRawTransaction 5afe5afe");
    const socket = connect(Number(new URL(node.url).port), "127.0.0.1");
    const head = `POST / HTTP/1.1\r\nhost: node\r\ncontent-length: ${body.length}\r\n\r\n`;
    const pieces = [head, body.slice(0, 30), body.slice(30, 62), body.slice(62)];
    expect(pieces.join("")).toBe(head + body);
    for (const piece of pieces) {
      socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 20)); // one piece on the wire each
    }
    await passed;
    expect(node.calls()).toBe(5);
    expect(node.bytes()).toBeGreaterThan(3 * "HTTP/1.1 200 OK\r\n\r\n{}".length);
    socket.destroy();
    expect(byRequest.url).toMatch(/\/api$/);
    for (const path of ["tx", "blocks"]) await (await fetch(`${byRequest.url}/${path}`)).text();
    expect(byRequest.calls()).toBe(2);
  } finally {
    await node.close();
    await byRequest.close();
    server.closeAllConnections();
    server.close();
  }
});

it("the gateway's hot loop plays each act and counts its statements", async () => {
  const { acts, sumUs, statements } = await measureGatewayActs({ payoutsPerCommit: 0.5, times: 6 });
  expect(Object.keys(acts)).toEqual([
    ...[
      "http",
      "token",
      "bodyHash",
      "order",
      "answer",
      "jobText",
      "signJob",
      "frame",
      "statements",
      "acknowledgements",
      "block",
    ],
    "rowsAndCommits",
  ]);
  expect(Math.abs(Object.values(acts).reduce((all, us) => all + us, 0) - sumUs)).toBeLessThan(1);
  expect(Number.isInteger(statements) && statements > 8).toBe(true);
});

it("gateways with few and with more agents are idle beside each other", async () => {
  const figures = await measureGrowth({ few: 1, many: 2, settleMs: 0, idleMs: 1_500 });
  for (const { questions, cpuMs } of Object.values(figures))
    expect([questions > 0, cpuMs > 0]).toEqual([true, true]);
  expect(describeGrowth(figures)).toMatch(/ times$/m);
});

it("each network has a receiver of its own at each call", () => {
  const receivers = networkNames.flatMap((name) => [
    newReceiver(name).address,
    newReceiver(name).address,
  ]);
  expect(new Set(receivers).size).toBe(2 * networkNames.length);
});

it("a few orders go the whole path on each network, and deposits with their pages", async () => {
  const { networks, alone, deposits, ...calls } = await measurePath(shortLoads.path);
  expect(Object.keys(networks).sort()).toEqual([...networkNames].sort());
  for (const { completedPerSecond, ...figures } of Object.values(networks)) {
    // Two payouts of one block have no rate.
    expect(completedPerSecond).toBeGreaterThanOrEqual(0);
    for (const figure of Object.values(figures)) expect(figure).toBeGreaterThan(0);
  }
  expect([alone.postToNodeMs.length, alone.postToCompletedMs.length]).toEqual([1, 1]);
  expect(alone.postToNodeMs[0]).toBeLessThan(alone.postToCompletedMs[0] ?? 0);
  expect(calls.nodeCallsIdlePerSecond).toBeGreaterThan(0);
  const { requestToCompletedMs, ...each } = deposits;
  expect(requestToCompletedMs).toHaveLength(1);
  for (const figure of Object.values(each)) expect(figure).toBeGreaterThan(0);
});
