/**
 * The class of a node's answer to signed bytes: each class of engine results, as the node keeps the
 * bytes, does not keep them, or does not say.
 */
import { expect, describe as group, it } from "vitest";
import type { BroadcastAnswer } from "../../chains/nodes.ts";
import { mergeBroadcasts } from "../../chains/providers/broadcasts.ts";
import { readSubmitted } from "../../chains/xrp/node-answers.ts";
import { readEngine, readSubmitError } from "../../chains/xrp/node-broadcast.ts";

const hash = "A".repeat(64);
type Kept = "kept" | "dropped" | "unsaid";
const states: readonly Kept[] = ["kept", "dropped", "unsaid"];

function answerOf(result: string, state: Kept, more: Record<string, unknown> = {}): BroadcastAnswer {
  const isKept = state === "kept";
  const said = state === "unsaid" ? {} : { applied: false, kept: isKept, queued: false };
  const answer = { engine_result: result, engine_result_message: "words", tx_json: { hash }, ...said, ...more };
  return readEngine(readSubmitted(answer), hash);
}

/** The outcome and the refusal of a node that keeps the bytes, drops them, or does not say. */
type Row = readonly [result: string, kept: string, dropped: string, unsaid: string];
const rows: readonly Row[] = [
  ["tesSUCCESS", "accepted", "accepted", "accepted"],
  ["terQUEUED", "accepted", "accepted", "accepted"],
  ["tecPATH_DRY", "accepted", "unknown", "accepted"],
  ["tecUNFUNDED_PAYMENT", "accepted", "unknown", "accepted"],
  ["tefALREADY", "known", "known", "known"],
  ["tefPAST_SEQ", "slot-consumed", "slot-consumed incurable", "slot-consumed"],
  ["tefMAX_LEDGER", "expired", "expired curable", "expired"],
  ["telINSUF_FEE_P", "underpriced", "underpriced curable", "underpriced"],
  ["telCAN_NOT_QUEUE_FEE", "underpriced", "underpriced curable", "underpriced"],
  ["telCAN_NOT_QUEUE_FULL", "underpriced", "underpriced curable", "underpriced"],
  ["telCAN_NOT_QUEUE", "unknown", "unknown curable", "unknown"],
  ["telCAN_NOT_QUEUE_BALANCE", "funds", "funds incurable", "funds"],
  ["telCAN_NOT_QUEUE_BLOCKS", "unknown", "unknown incurable", "unknown"],
  ["telWRONG_NETWORK", "unknown", "unknown incurable", "unknown"],
  ["telLOCAL_ERROR", "unknown", "unknown", "unknown"],
  ["terINSUF_FEE_B", "funds", "funds incurable", "funds"],
  ["terNO_ACCOUNT", "funds", "funds incurable", "funds"],
  ["terPRE_SEQ", "accepted", "unknown incurable", "unknown"],
  ["terRETRY", "unknown", "unknown incurable", "unknown"],
  ["tefBAD_AUTH", "unknown", "unknown incurable", "unknown"],
  ["tefMASTER_DISABLED", "unknown", "unknown incurable", "unknown"],
  ["tefEXCEPTION", "unknown", "unknown", "unknown"],
  ["temBAD_FEE", "unknown incurable", "unknown incurable", "unknown incurable"],
  ["temREDUNDANT", "unknown incurable", "unknown incurable", "unknown incurable"],
  ["tezNEW_KIND", "unknown", "unknown", "unknown"],
];

group("the answer to signed bytes", () => {
  it.each(rows)("%s is %s if kept, %s if dropped, %s if unsaid", (result, ...outcomes) => {
    const told = states.map((state) => {
      const { outcome, refusal = "" } = answerOf(result, state);
      return `${outcome} ${refusal}`.trim();
    });
    expect(told).toEqual(outcomes);
  });

  it("the answer to signed bytes is unknown for the id of other bytes, and accepted for the same id", () => {
    expect(answerOf("tesSUCCESS", "kept", { tx_json: { hash: "B".repeat(64) } })).toMatchObject({ outcome: "unknown" });
    expect(answerOf("tesSUCCESS", "kept")).toEqual({ outcome: "accepted", text: "" });
  });

  it("the answer to signed bytes is a refusal for bytes that the API cannot read, and none for a node that is not ready", () => {
    expect(readSubmitError("invalidTransaction", "bad")).toEqual({ outcome: "unknown", text: "bad", refusal: "incurable" });
    expect(readSubmitError("noCurrent", "busy")).toEqual({ outcome: "unknown", text: "busy" });
  });

  it("the answer to signed bytes stays open while one of several nodes keeps the bytes that another one drops", () => {
    const dropped = answerOf("terINSUF_FEE_B", "dropped");
    expect(mergeBroadcasts([dropped, answerOf("terINSUF_FEE_B", "kept")]).refusal).toBeUndefined();
    expect(mergeBroadcasts([dropped, dropped])).toMatchObject({ outcome: "funds", refusal: "incurable" });
  });

  it("the answer to signed bytes rejects an answer without an engine result", () => {
    expect(() => readSubmitted({ engine_result: "ok" })).toThrow(/engine_result/);
    expect(readSubmitted({ engine_result: "tesSUCCESS" })).toMatchObject({ result: "tesSUCCESS", txHash: "", kept: null });
  });
});
