/**
 * Reads `notify` and `metrics` of config.json: the receiver of events, and the address of the
 * metrics. Pure. docs/events.md.
 */

import type { JsonObject, JsonValue } from "../../base/json.ts";
import { isLoopback } from "../../base/loopback.ts";
import { parseAmount } from "../../protocol/amount.ts";
import type {
  CurrencySettings,
  MetricsSettings,
  NotifySettings,
  NotifyTarget,
} from "./settings.ts";
import {
  asInteger,
  asList,
  asObject,
  asText,
  configFault,
  parseUrl,
  requireField,
} from "./values.ts";

const notifyKeys = ["command", "url", "stuckMinutes", "awayMinutes", "lowFunds"];
const wordsMax = 32;
const wordCharactersMax = 4096;
const minutesMax = 10_080;
const stuckMinutesDefault = 30;
const awayMinutesDefault = 10;

/** @throws AgentError CONFIG_* */
export function readNotify(
  value: JsonValue,
  currencies: Readonly<Record<string, CurrencySettings>>,
): NotifySettings {
  const notify = asObject(value, "notify", notifyKeys);
  const minutes = (key: "stuckMinutes" | "awayMinutes", otherwise: number): number =>
    notify[key] === undefined ? otherwise : asInteger(notify[key], `notify.${key}`, 1, minutesMax);
  return {
    target: readTarget(notify),
    stuckMinutes: minutes("stuckMinutes", stuckMinutesDefault),
    awayMinutes: minutes("awayMinutes", awayMinutesDefault),
    lowFunds: notify.lowFunds === undefined ? {} : readLowFunds(notify.lowFunds, currencies),
  };
}

function readTarget({ command, url }: JsonObject): NotifyTarget {
  if ((command === undefined) === (url === undefined))
    throw configFault("CONFIG_VALUE", "notify needs command or url, and not both");
  if (url !== undefined) return { kind: "url", url: readUrl(asText(url, "notify.url")) };
  const words = asList(command as JsonValue, "notify.command", wordsMax).map((word, index) => {
    const text = asText(word, `notify.command[${index}]`);
    if (text.length > wordCharactersMax || text.includes("\0"))
      throw configFault("CONFIG_VALUE", `notify.command[${index}] is too long`);
    return text;
  });
  if (words[0]?.startsWith("/") !== true) {
    throw configFault(
      "CONFIG_VALUE",
      "notify.command must begin with the whole path of a program, such as /usr/local/bin/tell",
    );
  }
  return { kind: "command", command: words };
}

/** No message shows the URL: its path may be a secret of the receiver. */
function readUrl(text: string): string {
  const url = parseUrl(text);
  if (url === null || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw configFault("CONFIG_VALUE", "notify.url must be an https address without user name or #");
  }
  if (url.protocol !== "https:" && !isLoopback(url.hostname)) {
    throw configFault(
      "CONFIG_VALUE",
      `notify.url is http, and ${url.hostname} is not this machine`,
    );
  }
  return url.href;
}

function readLowFunds(
  value: JsonValue,
  currencies: Readonly<Record<string, CurrencySettings>>,
): Readonly<Record<string, string>> {
  const given = asObject(value, "notify.lowFunds", Object.keys(currencies));
  for (const [id, amount] of Object.entries(given)) {
    const at = `notify.lowFunds.${id}`;
    if (typeof amount === "number")
      throw configFault(
        "CONFIG_AMOUNT",
        `${at} is a number; write amounts as text, such as "${amount}"`,
      );
    const parsed = parseAmount(asText(amount as JsonValue, at), currencies[id]?.decimal ?? 0);
    if (!parsed.ok)
      throw configFault(
        "CONFIG_AMOUNT",
        `${at} is not a plain decimal number above 0 such as "1.5"`,
      );
  }
  return given as Readonly<Record<string, string>>;
}

/** @throws AgentError CONFIG_* */
export function readMetrics(value: JsonValue): MetricsSettings {
  const metrics = asObject(value, "metrics", ["listen"]);
  const listen = asText(requireField(metrics, "listen", "metrics"), "metrics.listen");
  if (listen === "unix") return { listen: { kind: "unix" } };
  const [, host = "", port = ""] = /^(127(?:\.\d{1,3}){3}|\[::1\]):(\d{1,5})$/.exec(listen) ?? [];
  if (host === "" || Number(port) < 1 || Number(port) > 65_535) {
    throw configFault(
      "CONFIG_VALUE",
      'metrics.listen must be "unix", or an address of this machine such as 127.0.0.1:9464',
    );
  }
  return { listen: { kind: "tcp", host: host.replace(/[[\]]/g, ""), port: Number(port) } };
}
