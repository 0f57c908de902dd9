/**
 * The page at /docs in English and Turkish: whole without a script, its examples true, and in a
 * real browser without a violation of WCAG 2.2 AA and without a request to anybody else.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerCodes } from "../../gateway/answer/messages.ts";
import { eventTypes, testType } from "../../gateway/callbacks/events.ts";
import {
  answerExamples,
  callbackExample,
  errorExample,
  tokenScript,
  verifyScript,
} from "../../gateway/openapi/examples.ts";
import { shopFlows } from "../../gateway/openapi/page.ts";
import { pageWords } from "../../gateway/openapi/page-words.ts";
import { operations } from "../../gateway/operations/operations.ts";
import { startTestGateway, type TestGateway } from "../../lab/kit/gateway-server.ts";
import { projectRoot } from "../../lab/kit/kit.ts";
import {
  findChromium,
  noBrowser,
  openBrowser,
  openPage,
  violationsOf,
} from "../../lab/pages/browser.ts";

const path = findChromium();
if (path === null) process.stderr.write(`\n*** SKIPPED: ${noBrowser}\n\n`);

let gateway: TestGateway;
let browser: Browser;
beforeAll(async () => {
  gateway = await startTestGateway();
  if (path !== null) browser = await openBrowser(path);
});
afterAll(async () => {
  await browser?.close();
  await gateway.close();
});

const languages = ["en", "tr"] as const;
const unescaped = (html: string): string =>
  html.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name] ?? "",
  );
const blocksOf = (html: string): string[] =>
  [...html.matchAll(/<pre [^>]*><code>([\s\S]*?)<\/code><\/pre>/g)].map(([, text = ""]) =>
    unescaped(text),
  );

describe("/docs", () => {
  it.each(languages)(
    "in %s is one page under a strict policy that allows no script, and names every operation",
    async (lang) => {
      const { status, headers, text } = await gateway.send(`/docs?lang=${lang}`);
      expect([status, headers["content-type"], headers["content-language"]]).toEqual([
        200,
        "text/html; charset=utf-8",
        lang,
      ]);
      expect(headers["content-security-policy"]).toContain("default-src 'none'; style-src 'self';");
      expect(headers["content-security-policy"]).not.toMatch(/script|unsafe|\*/);
      for (const { method, path: place } of operations) {
        const shown = `${method}</span> <code>/api/v1${place.replace(/:(\w+)/g, "{$1}")}</code>`;
        expect(text).toContain(shown);
      }
      for (const type of [...eventTypes, testType])
        expect(text).toContain(`POST</span> <code>${type}</code>`);
      expect(text).not.toMatch(/<script|\bon[a-z]+=|style="|undefined|\[object/);
      const elsewhere = [...text.matchAll(/(?:src|href)="([^"]*)"/g)]
        .map(([, place = ""]) => place)
        .filter((place) => /^\w+:/.test(place));
      expect(elsewhere).toEqual(["data:,"]);
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const targets = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
      expect(targets.filter((id) => !ids.includes(id))).toEqual([]);
      expect(text.indexOf("<h1>")).toBeLessThan(text.indexOf("<nav"));
      expect(text.match(/<(?:pre|div class="wide")(?! tabindex="0")/g)).toBeNull();
    },
  );

  it("is in the language of the link, else of the browser, else English, and takes no other method", async () => {
    const languageOf = async (query: string, accept?: string) =>
      (
        await gateway.send(
          `/docs${query}`,
          accept === undefined ? {} : { headers: { "Accept-Language": accept } },
        )
      ).headers["content-language"];
    expect(await languageOf("")).toBe("en");
    expect(await languageOf("", "tr-TR,tr;q=0.9,en;q=0.5")).toBe("tr");
    expect(await languageOf("?lang=en", "tr")).toBe("en");
    expect(await languageOf("?lang=xx", "tr")).toBe("tr");
    const text = (await gateway.send("/docs?lang=tr")).text;
    for (const name of Object.values(pageWords.tr.operations)) expect(text).toContain(name);
    expect(text).toContain(`<code>amount_precision</code>: ${answerCodes.amount_precision.tr}`);
    expect(
      (
        await gateway.send("/docs", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
        })
      ).status,
    ).toBe(405);
  });

  it("has a maker of tokens that the gateway takes, as it stands there", async () => {
    const { text } = await gateway.send("/docs");
    const { publicUrl } = gateway.service.config;
    const script = tokenScript(publicUrl);
    expect(blocksOf(text)).toContain(script);
    gateway.clock.nowMs = Date.now();
    const run = async (shopKey: string): Promise<string> => {
      const child = spawn("sh", ["-c", script.replace(publicUrl, gateway.url)], {
        env: { ...process.env, SHOP_KEY: shopKey },
      });
      let output = "";
      child.stdout.on("data", (part) => {
        output += part;
      });
      await new Promise((resolve) => child.once("close", resolve));
      return output;
    };
    expect(JSON.parse(await run(gateway.merchant.shopKey))).toEqual(
      expect.arrayContaining([expect.objectContaining({ id: "eth" })]),
    );
    expect(
      JSON.parse(await run(`${gateway.merchant.shopKey.split(".")[0]}.${"A".repeat(43)}.0`)).code,
    ).toBe("token_invalid");
  });

  it("has a verifier that takes its own example of a callback, and no changed, old or foreign one", async () => {
    expect(blocksOf((await gateway.send("/docs")).text)).toContain(verifyScript);
    const { isGenuine } = (await import(
      `data:text/javascript,${encodeURIComponent(verifyScript)}`
    )) as {
      isGenuine(secret: string, headers: object, body: string, nowMs: number): boolean;
    };
    const { secret, headers, body } = callbackExample;
    const sentAt = Number(headers["webhook-timestamp"]) * 1000;
    expect(isGenuine(secret, headers, body, sentAt)).toBe(true);
    expect(
      isGenuine(
        secret,
        { ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"]}` },
        body,
        sentAt,
      ),
    ).toBe(true);
    expect(isGenuine(secret, headers, `${body} `, sentAt)).toBe(false);
    expect(isGenuine(secret, headers, body, sentAt + 301_000)).toBe(false);
    expect(isGenuine(secret, { ...headers, "webhook-timestamp": "x" }, body, sentAt)).toBe(false);
    expect(
      isGenuine(`whsec_${Buffer.alloc(31, 1).toString("base64")}`, headers, body, sentAt),
    ).toBe(false);
  });

  it("has examples of answers with the fields of their schemas, all that these require", async () => {
    const document = (await gateway.send("/openapi.json")).body;
    const { schemas } = document.components;
    const fieldsFit = (
      value: object,
      schema: { $ref?: string; items?: object; properties?: object; required?: string[] },
    ): void => {
      const name = schema.$ref?.split("/").at(-1);
      const found = name === undefined ? schema : schemas[name];
      if (Array.isArray(value)) for (const one of value) fieldsFit(one, found.items);
      if (found.properties === undefined) return;
      expect(Object.keys(found.properties)).toEqual(expect.arrayContaining(Object.keys(value)));
      expect(Object.keys(value)).toEqual(expect.arrayContaining(found.required ?? []));
      for (const [field, one] of Object.entries(value)) {
        const { pattern, enum: known } = found.properties[field];
        if (pattern !== undefined) expect(one, field).toMatch(new RegExp(pattern, "u"));
        if (known !== undefined) expect(known, field).toContain(one);
        if (typeof one === "object" && one !== null) fieldsFit(one, found.properties[field]);
      }
    };
    const all = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods as object),
    ) as {
      operationId: string;
      responses: Record<string, { content: Record<string, { schema: object }> }>;
    }[];
    const text = (await gateway.send("/docs")).text;
    for (const [id, example] of Object.entries(answerExamples)) {
      const schema = all.find(({ operationId }) => operationId === id)?.responses["200"]?.content[
        "application/json"
      ]?.schema;
      expect(schema, id).toBeDefined();
      fieldsFit(example, schema ?? {});
      expect(blocksOf(text), id).toContain(JSON.stringify(example, null, 2));
    }
    fieldsFit(errorExample, { $ref: "#/components/schemas/Error" });
    fieldsFit(JSON.parse(callbackExample.body), { $ref: "#/components/schemas/Callback" });
  });

  it("draws and lists the stages of docs/api.md with their statuses, each reached by a way or a beginning", async () => {
    const api = readFileSync(join(projectRoot, "docs/api.md"), "utf8");
    for (const [flow, { stages, ways }] of Object.entries(shopFlows)) {
      const table = api.split(`| stage of a ${flow} |`)[1]?.split("\n\n")[0] ?? "";
      const rows = [...table.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| (\d) \|/gm)];
      const listed = rows.flatMap(([, names = "", status]) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${name} ${status}`),
      );
      expect(stages.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(listed.sort());
      const reached = new Set<string>(ways.map(([, to]) => to));
      expect(stages.filter(({ name }) => !reached.has(name))).toHaveLength(1);
      for (const lang of languages) {
        const [, drawing] = pageWords[lang].flows[flow as keyof typeof shopFlows];
        for (const { name } of stages) expect(drawing).toContain(name);
      }
    }
  });

  it.skipIf(path === null).each([
    ["en", "light", 360],
    ["tr", "dark", 360],
    ["tr", "light", 1280],
    ["en", "dark", 1280],
  ] as const)(
    "in Chromium is readable for all in %s, %s, %i px wide, and asks nobody else",
    async (language, scheme, width) => {
      const { page, problems, close } = await openPage(browser, `${gateway.url}/docs`, {
        language,
        scheme,
        width,
        script: true,
      });
      expect([...(await violationsOf(page)), ...problems]).toEqual([]);
      expect(await page.locator("html").getAttribute("lang")).toBe(language);
      const headings = await page.locator("section h3").allInnerTexts();
      expect(headings.filter((text) => text.includes("/api/v1/"))).toHaveLength(operations.length);
      const title = await page.locator("h1").boundingBox();
      expect(title?.y).toBeLessThan((await page.locator("nav").boundingBox())?.y ?? 0);
      await close();
    },
    30_000,
  );
});
