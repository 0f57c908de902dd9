/**
 * A JSON-RPC node that misbehaves on order: over HTTP on loopback, either with answers of the
 * test's own or handing every call on to a real node and changing what comes back. Counts what
 * reaches it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface RpcCall {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A result, or an error object to answer with. */
export type FakeAnswer =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } };

export interface FakeNodeOptions {
  readonly answer: (call: RpcCall) => FakeAnswer | Promise<FakeAnswer>;
  /** Takes the whole exchange over; false lets the ordinary answer follow. */
  readonly hijack?: (
    calls: readonly RpcCall[],
    response: ServerResponse,
    isBatch: boolean,
  ) => boolean;
}

export interface FakeNode {
  readonly url: string;
  readonly calls: RpcCall[];
  readonly counts: { requests: number; connections: number };
  options: FakeNodeOptions;
  count(method: string): number;
  close(): Promise<void>;
}

export async function startFakeNode(options: FakeNodeOptions): Promise<FakeNode> {
  const server = createServer((request, response) => {
    serve(node, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const node: FakeNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    counts: { requests: 0, connections: 0 },
    options,
    count: (method) => node.calls.filter((call) => call.method === method).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  server.on("connection", () => {
    node.counts.connections += 1;
  });
  return node;
}

async function serve(
  node: FakeNode,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as RpcCall | RpcCall[];
  const calls = [body].flat();
  node.counts.requests += 1;
  node.calls.push(...calls);
  if (node.options.hijack?.(calls, response, Array.isArray(body)) === true) return;
  const answers = await Promise.all(
    calls.map(async (call) => ({
      jsonrpc: "2.0",
      id: call.id,
      ...(await node.options.answer(call)),
    })),
  );
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
}

/** Hands calls on to a real node; `change` may replace a result, given the real one. */
export function forwarding(
  url: string,
  change: (call: RpcCall, answer: FakeAnswer) => FakeAnswer = (_call, answer) => answer,
) {
  return async (call: RpcCall): Promise<FakeAnswer> => {
    const headers = { "content-type": "application/json" };
    const answered = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", ...call }),
    });
    const { result, error } = (await answered.json()) as {
      result?: unknown;
      error?: { code: number; message: string };
    };
    return change(call, error === undefined ? { result } : { error });
  };
}
