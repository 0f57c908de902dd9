/** Writes a provider's refusals and broken bodies to an HTTP response. Loopback alone. */
import type { ServerResponse } from "node:http";
import type { WordedRefusal } from "./meter.ts";
import type { BodyTrouble } from "./profile.ts";

/** Ids of the calls of one request; `isBatch` where they came as a list. */
export interface RequestIds {
  readonly ids: readonly (number | string | null)[];
  readonly isBatch: boolean;
}

const codeDefault = -32_000;

export function refuse(
  response: ServerResponse,
  { refusal, words }: WordedRefusal,
  { ids, isBatch }: RequestIds,
): void {
  const { status = 200, headers = {}, form = "object", code = codeDefault } = refusal;
  if (form === "cut") {
    response.destroy();
    return;
  }
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const error = { code, message: words };
  switch (form) {
    case "text":
      response.setHeader("content-type", "text/plain; charset=utf-8");
      response.end(words);
      return;
    case "page":
      response.setHeader("content-type", "text/html");
      response.end(pageOf(words));
      return;
    case "fields":
      json(response, { Error: words });
      return;
    case "list":
      json(
        response,
        isBatch
          ? ids.map((id) => ({ jsonrpc: "2.0", id, error }))
          : { jsonrpc: "2.0", id: ids[0] ?? null, error },
      );
      return;
    default:
      json(response, { jsonrpc: "2.0", id: isBatch ? null : (ids[0] ?? null), error });
  }
}

/**
 * True when the trouble was the answer; for `slow` resolves with false once the time is over. A
 * hanging answer breaks after its time, so that no connection stays.
 */
export async function trouble(
  response: ServerResponse,
  { kind, ms = 1_000 }: BodyTrouble,
  text: string,
): Promise<boolean> {
  switch (kind) {
    case "slow":
      await waited(ms);
      return false;
    case "hang":
      await waited(ms);
      response.destroy();
      return true;
    case "cut":
      response.destroy();
      return true;
    case "page":
      response.statusCode = 502;
      response.setHeader("content-type", "text/html");
      response.end(pageOf("502 Bad Gateway"));
      return true;
    case "torn":
      response.setHeader("content-type", "application/json");
      response.end(text.slice(0, Math.floor(text.length / 2)));
      return true;
  }
}

function json(response: ServerResponse, value: unknown): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(value));
}

function pageOf(words: string): string {
  return `<!DOCTYPE html>\n<html><head><title>${words}</title></head>\n<body><center><h1>${words}</h1></center><hr></body></html>\n`;
}

function waited(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}
