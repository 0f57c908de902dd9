/** What eight clients say to a broadcast, recorded, and what it means. */
import { expect, describe as group, it } from "vitest";
import { classifyBroadcastError, isRevert } from "../../chains/evm/broadcast.ts";
import { mergeBroadcasts } from "../../chains/providers/broadcasts.ts";
import { vectors } from "../support/evm-values.ts";

group("what nodes say to a broadcast", () => {
  const { texts } = vectors<{ texts: readonly (readonly [client: string, text: string, expected: string])[] }>("node-errors");

  it("has texts of eight clients at least", () => {
    expect(texts.length).toBeGreaterThanOrEqual(60);
    expect(new Set(texts.map(([client]) => client.split(" ")[0])).size).toBeGreaterThanOrEqual(8 + 1);
  });

  it.each(texts)("broadcasting by %s: %s", (_client, text, expected) => {
    expect(classifyBroadcastError(text)).toBe(expected);
    expect(classifyBroadcastError(text.toUpperCase())).toBe(expected);
  });

  it("reports the most useful of several answers, and unsent only when all say so", () => {
    const merged = (...outcomes: Parameters<typeof mergeBroadcasts>[0][number]["outcome"][]): string =>
      mergeBroadcasts(outcomes.map((outcome) => ({ outcome, text: "" }))).outcome;
    expect(merged("unsent", "unsent")).toBe("unsent");
    expect(merged("unsent", "unknown")).toBe("unknown");
    expect(merged("unknown", "underpriced")).toBe("underpriced");
    expect(merged("expired", "unsent")).toBe("expired");
    expect(merged("expired", "unknown")).toBe("unknown");
    expect(merged("slot-consumed", "known")).toBe("known");
    expect(merged("known", "accepted")).toBe("accepted");
    expect(merged()).toBe("unsent");
  });

  it("tells a revert from want of funds and from trouble in the node", () => {
    expect(
      ["execution reverted", "execution reverted: balance too low", "VM execution error.", "Execution reverted"].every(isRevert),
    ).toBe(true);
    expect(
      ["insufficient funds for gas * price + value", "header not found", "gas required exceeds allowance (0)", ""].some(isRevert),
    ).toBe(false);
  });
});
